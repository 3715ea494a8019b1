"""A coordinator whose log is a partition of a cluster: what the partition does is what it counts
on, and where it is not, a run or its judge says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.cluster.sim.coordinated import Coordinators
from kraftcheck.reference.kit.tail_log import with_committed, with_found
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.transactions import coordinator
from kraftcheck.reference.transactions.messages import Tail, TxnRecord
from kraftcheck.reference.transactions.types import INITIAL_RECORD, TailLog
from kraftcheck.traces.schema import PROGRESSED, STOPPED, PartTables
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

RUNS = 6
ELECTED = {
    "transactions": "HandleElect",
    "groups": "HandleMoveCoordinator",
    "commits": "HandleMoveCoordinator",
    "classic": "HandleMoveClassicCoordinator",
}
COMMITTED = {
    "transactions": "HandleAcknowledged",
    "groups": "HandleGroupCommit",
    "commits": "HandleGroupCommit",
    "classic": "HandleClassicCommit",
}
WHOLE = {"cleaned": False}
"""Nobody cleans the log, of which replicas would tell first."""


def verdicts(part: PartTables) -> set[str]:
    return set(part.tables["runs"]["verdict"].to_pylist())


@pytest.mark.parametrize("protocol", [*ELECTED])
def test_brokers_fail_over_beneath_it(protocol: str) -> None:
    part = simulate_part(f"{protocol}-on-cluster", 1, 0, RUNS)
    steps = part.tables["steps"]
    taken = dict(zip(steps["id"].to_pylist(), steps["action"].to_pylist(), strict=True))
    counts = dict(zip(steps["id"].to_pylist(), steps["count"].to_pylist(), strict=True))
    assert verdicts(part) == {PROGRESSED}
    for action in (ELECTED[protocol], COMMITTED[protocol]):
        assert sum(counts[at] for at, of in taken.items() if of == action) >= RUNS // 2, action
    assert check_runs(Part(part)) == []


@pytest.mark.parametrize("protocol", [*COMMITTED])
def test_who_reads_past_the_high_watermark_is_found(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of its steps is one that its specification has."""
    monkeypatch.setattr(Coordinators, "_is_committed", lambda self, row, before, after: True)
    found = check_runs(Part(simulate_part(f"{protocol}-on-cluster", 1, 0, RUNS)))
    assert {each.check for each in found} == {"OneLog"}
    assert f"{COMMITTED[protocol]}: what ends at" in found[0].explanation
    assert "is called committed, and the high watermark of broker" in found[0].explanation


def test_who_appends_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(self: Coordinators, record: Any) -> None:
        request = self._request().value
        self._partition.call(50_000, lambda broker: self._partition.send(request, broker), 0)
        self.closed = True

    monkeypatch.setattr(Coordinators, "_append", append)
    found = check_runs(Part(simulate_part("transactions-on-cluster", 1, 0, 1, options=WHOLE)))
    assert {each.check for each in found} == {"OneLog"}
    assert "does not append next" in found[0].explanation


def test_who_hears_of_another_tail_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that there may be, the one that the broker does not have."""

    def tail_of(self: Coordinators, row: Any) -> Any:
        return self.rows[self._node].log.tails[0].records

    monkeypatch.setattr(Coordinators, "_behind", tail_of)
    found = check_runs(Part(simulate_part("transactions-on-cluster", 1, 0, RUNS, options=WHOLE)))
    assert {each.check for each in found} == {"OneLog"}
    assert "has another tail" in found[0].explanation


def test_a_log_that_promises_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As TailLog had it: where a new leader has found all that its high watermark covers, nobody
    had anything behind that. A replica has, and is elected (docs/reference/decisions.md).
    """
    monkeypatch.setattr(coordinator, "with_found", with_committed)
    monkeypatch.setattr(
        Coordinators,
        "_is_committed",
        lambda self, row, before, after: row.high_watermark == len(row.log),
    )
    plain = {"recovers": False, "ids_expire": False, "read_committed": (), "read_uncommitted": ()}
    options = {f"coordinator_{name}": value for name, value in plain.items()}
    run = simulate_run("transactions-on-cluster", 1, FOUND_IN, options=options)
    assert run.result.verdict == STOPPED
    [violation] = run.result.violations
    assert violation.invariant == "TailLogRefined"
    assert violation.explanation.endswith("which no replica can have: 1 tails are known")


FOUND_IN = 139
"""A run of seed 1: one of 200 shows it."""


def test_what_is_found_leaves_what_others_have_behind_it() -> None:
    one, two = (TxnRecord("Ongoing", epoch, (11,), 1) for epoch in (0, 1))
    tails = (Tail(()), Tail((one,)), Tail((one, two)), Tail((two,)))
    found = with_found(TailLog(INITIAL_RECORD, (one,), tails))
    assert found == TailLog(one, (), (Tail(()), Tail((two,))))
    nothing = TailLog(INITIAL_RECORD, (), tails[:2])
    assert with_found(nothing) == nothing


def test_a_run_is_told() -> None:
    told = "\n".join(narrate(simulate_run("transactions-on-cluster", 1, 2)))
    assert "G the coordinator of partition 0" in told
    assert " G  0 PrepareAbort>Loading: " in told and " leader_epoch=2 " in told


def test_options_have_the_coordinators_name_before_them() -> None:
    options = {"coordinator_version": 1, "coordinator_max_coordinators": 2}
    run = simulate_run("transactions-on-cluster", 1, 0, options=options)
    assert run.result.options.coordinator.version == 1
    constants: Any = run.result.constants
    assert constants.coordinator.max_coordinators == 2
    with pytest.raises(ValueError, match="no option"):
        simulate_run("transactions-on-cluster", 1, 0, options={"coordinator_versoin": 1})
