"""Coordinators whose log is compacted: each broker cleans its replica, followers fetch over holes,
elections and cuts come over cleaned logs, and what is loaded is what the whole log says.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.cluster.sim.compacted import CompactedReplicas
from kraftcheck.reference.core.run import Run
from kraftcheck.reference.partition.compaction.messages import CopyBatches
from kraftcheck.reference.partition.compaction.sometimes import sometimes
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.steps.check import Finding, check_runs
from kraftcheck.traces.steps.record import Part

BUGS = {
    "Z195": {"KeptIsReplayed", "LoadedIsReplayed"},
    "Z196": {"KeptIsReplayed", "LoadedIsReplayed"},
    "Z197": {"CleansCommitted"},
    "Z198": {"LoadedIsReplayed"},
    "Z199": {"OffsetsStay"},
}
"""By mutant of a cleaner, the properties that stop runs of a cluster with it."""


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_each_mutant_is_found_on_a_cluster(bug: str) -> None:
    part = simulate_part("groups-on-cluster", 1, 0, 24, bug)
    runs = [run for run in part.tables["runs"].to_pylist() if run["violations"]]
    found = {each["invariant"] for run in runs for each in run["violations"]}
    assert found and found <= BUGS[bug]
    # A violation names a step of the whole run, and the run ends there.
    of_replicas = {run["components"][each["step"]] for run in runs for each in run["violations"]}
    assert of_replicas == {4}


@pytest.mark.parametrize("protocol", ["transactions", "groups", "commits", "classic"])
def test_nothing_else_is_so_where_nothing_is_cleaned(protocol: str) -> None:
    run = simulate_run(f"{protocol}-on-cluster", 1, 0, options={"cleaned": False})
    constants: Any = run.result.constants
    assert constants.replicas is None
    assert len(constants.components) == 2 + len(constants.partitions)
    assert {step.component for step in run.steps} == {*range(len(constants.components))}


def test_a_run_is_told() -> None:
    told = "\n".join(narrate(simulate_run("commits-on-cluster", 1, 1)))
    assert "L the brokers' replicas of that log" in told
    assert " Idle>Loading: state=Loading " in told and " CleanSegment expired=" in told


@pytest.mark.slow
def test_runs_come_to_what_cleaning_is_about() -> None:
    """Holes are fetched and read over, tombstones go, segments are cleaned amid loads, logs with
    holes are cut, and brokers crash amid a cleaning."""
    met = set()
    for number in range(40):
        run = simulate_run("commits-on-cluster", 1, number)
        constants: Any = run.result.constants
        of_replicas = len(constants.components) - 1
        for s in run.steps:
            if s.component != of_replicas:
                continue
            given = (constants.replicas, s.node, s.before, s.input, s.after, s.sent)
            asked = [each for each in sometimes.all if isinstance(s.input, each.inputs)]
            met |= {each.name for each in asked if each.holds(*given)}
    assert met == {each.name for each in sometimes.all}


# --- What joins the replicas with the partition and the coordinator: check OneLog


def found_with(monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any) -> list[Finding]:
    monkeypatch.setattr(CompactedReplicas, name, wrong)
    found = check_runs(Part(simulate_part("commits-on-cluster", 1, 0, 4)))
    assert {each.check for each in found} == {"OneLog"}
    return found


def test_a_cleaner_that_knows_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Run.step

    def step(self: Any, node: int, input: Any) -> Any:
        if type(input.value).__name__ == "StartCleaning":
            log = self._partition.row(node).log
            input = self.known(type(input.value)(len(log)))
        return take(self, node, input)

    [first, *_] = found_with(monkeypatch, "step", step)
    assert "and its cleaner is told" in first.explanation


def test_a_replica_that_does_not_follow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    follow = CompactedReplicas._follow

    def late(self: Any, broker: int) -> None:
        """What a follower fetches is not its replica's before the cleaner begins anew."""
        if not self.row(broker).log or self._partition.row(broker).role == "Leader":
            follow(self, broker)

    [first, *_] = found_with(monkeypatch, "_follow", late)
    assert "is not its log" in first.explanation


def test_a_follower_that_makes_holes_of_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = CompactedReplicas._do

    def do(self: Any, broker: int, input: Any) -> bool:
        if isinstance(input, CopyBatches) and len(self.row(broker).log) == 1:
            [first, *rest] = input.batches
            made = type(first)(first.offset, first.value, first.keys, first.removed, ())
            input = CopyBatches((made, *rest), 99)
        return take(self, broker, input)

    [first, *_] = found_with(monkeypatch, "_do", do)
    assert "that nobody has" in first.explanation


def test_who_takes_over_before_the_log_is_read_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one leads, and what it loads is not waited for."""

    def load(self: Any, broker: int, then: Any) -> None:
        self.follow()
        then()

    monkeypatch.setattr(CompactedReplicas, "load", load)
    part = simulate_part("groups-on-cluster", 1, 0, 12)
    stopped = part.tables["runs"]["verdict"].to_pylist()
    assert STOPPED in stopped or PROGRESSED in stopped
    found = check_runs(Part(part))
    told = [each.explanation for each in found]
    violations = [v for of in part.tables["runs"]["violations"].to_pylist() for v in of]
    assert any("has not read its log" in each for each in told) or violations
