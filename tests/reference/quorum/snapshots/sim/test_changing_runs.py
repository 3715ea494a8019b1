"""Runs of a quorum and of a cluster in which voters, observers and snapshots come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from kraftcheck.reference.cluster.sim.brokers import Brokers
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.quorum.snapshots.sim.changes import taken_by
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.traces.schema import PROGRESSED, STOPPED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

VOTERS = {"voters": 3, "voter_changes": 5, "observers": 1}
ALL = {**VOTERS, "snapshots": 8, "brokers": 1, "state_machines": True}
CLUSTER = {
    **{"quorum_voter_changes": 3, "quorum_observers": 1, "quorum_snapshots": 8},
    **{"observing": True, "quorum_voters": 3},
}


def runs(count: int, options: Mapping[str, Any], bug: str | None = None) -> list[Run]:
    return [simulate_run("quorum", 5, run, bug, options) for run in range(count)]


def test_all_of_it_happens_and_every_run_makes_progress() -> None:
    taken = runs(12, ALL)
    assert {run.result.verdict for run in taken} == {PROGRESSED}
    done = Counter(step.action for run in taken for step in run.steps if not step.ignored)
    for action in ("AddVoter", "RemoveVoter", "FetchFromBootstrap", "Crash", "Restart"):
        assert done[f"Handle{action}"], action
    for action in ("CreateSnapshot", "CleanSnapshots", "FetchSnapshotResponse"):
        assert done[f"Handle{action}"], action
    read = [o for run in taken for o in run.result.history if o.op == "fetch" and o.values]
    assert read, "clients read on beside it"


def test_brokers_are_asked_for_no_vote() -> None:
    """They stand behind those that may."""
    for run in runs(6, {**ALL, "brokers": 2}):
        constants: Any = run.result.constants
        assert (constants.nodes, constants.first_voters) == ((0, 1, 2, 3, 4, 5), (0, 1, 2))
        sets = [known.voters for step in run.steps for known in step.after.history]
        assert not {4, 5} & {node for voters in sets for node in voters}


def test_options_say_whose_steps_they_are() -> None:
    for options, name in (({}, "quorum"), (VOTERS, "voters"), (ALL, "snapshots")):
        assert taken_by(options) == name
        constants = simulate_run("quorum", 5, 0, None, options).result.constants
        assert protocol_of(constants).name == name


def test_a_run_is_told_as_one_of_its_protocol() -> None:
    told = "\n".join(narrate(runs(1, ALL)[0]))
    assert "voter_changes=5" in told
    assert "log+=" in told


@pytest.mark.parametrize(
    ("bug", "options", "violated"),
    [
        ("Z19", VOTERS, "OneChangeAtATime"),
        ("Z115", VOTERS, "CommittedSurvives"),
        ("Z111", ALL, "HistorySound"),
    ],
)
def test_a_bug_is_found(bug: str, options: Mapping[str, Any], violated: str) -> None:
    found = (
        each.invariant
        for run in range(40)
        for each in simulate_run("quorum", 5, run, bug, options).result.violations
    )
    assert violated in found


OF_VOTERS = {
    "Z123": {"auto_join": True, "observers": 2, "voter_changes": 5},
    "Z190": {"listeners_change": True, "observers": 1, "voter_changes": 5},
    "Z191": {"kraft_version": 0, "observers": 1, "voter_changes": 3},
    "Z192": {"kraft_version": 0, "observers": 1, "voter_changes": 3},
    "Z201": {"unformatted": 2, "observers": 2, "voter_changes": 4},
}
"""Options of voters alone, with a bug that is found under them."""
HAPPENS = {
    "auto_join": ("AutoJoinTimeout", "AddVoterRequest", "AddVoterResponse"),
    "listeners_change": ("ChangeListeners", "UpdateVoterTimeout", "UpdateVoterRequest"),
    "kraft_version": ("UpgradeKraftVersion", "UpdateVoterRequest", "UpdateVoterResponse"),
    "unformatted": ("FetchFromBootstrap", "AddVoter"),
}


@pytest.mark.parametrize("bug", ["Z123", "Z190", "Z191", "Z201"])
def test_what_only_voters_have_happens_and_every_run_makes_progress(bug: str) -> None:
    options = OF_VOTERS[bug]
    taken = runs(8, options)
    assert {run.result.verdict for run in taken} == {PROGRESSED}
    done = {step.action for run in taken for step in run.steps if not step.ignored}
    assert {f"Handle{action}" for action in HAPPENS[next(iter(options))]} <= done


@pytest.mark.slow
@pytest.mark.parametrize("bug", OF_VOTERS)
def test_a_bug_of_it_is_found_in_a_quorum_and_in_a_cluster(bug: str) -> None:
    options = OF_VOTERS[bug]
    in_cluster = {f"quorum_{name}": value for name, value in options.items()}
    for scenario, asked in (("quorum", options), ("cluster", in_cluster)):
        taken = (simulate_run(scenario, 7, run, bug, asked).result for run in range(60))
        assert any(result.violations for result in taken), scenario


def test_an_option_of_voters_moves_no_other_draw() -> None:
    """What begins with the same choices goes on alike until something of it happens."""
    plain = simulate_run("quorum", 5, 0, None, VOTERS)
    other = simulate_run("quorum", 5, 0, None, {**VOTERS, "listeners_change": True})
    first = [step.action for step in plain.steps][:40]
    assert [step.action for step in other.steps][:40] == first


def test_of_two_voters_the_leader_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z164: nobody leads then, if it resigns too soon."""
    monkeypatch.setattr(
        "kraftcheck.reference.quorum.snapshots.sim.administrator.leaves_nobody",
        lambda *asked: False,
    )
    run = simulate_run("quorum", 3, 29, None, {"voter_changes": 4, "observers": 1})
    assert run.result.verdict == "no leader was elected"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"state_machines": True}, "ask for those as well"),
        ({"observers": 8}, "8 observers are more than 7"),
        ({"voter_changes": -1}, "voter_changes is -1"),
        ({"snapshots": "many"}, "snapshots: expected int"),
        ({"reassignments": 1}, "no option 'reassignments'"),
        ({"kraft_version": 0, "snapshots": 1}, "kraft_version and snapshots do not go together"),
        ({"kraft_version": 2}, "kraft_version is 2, not 0 or 1"),
        ({"auto_join": True}, "auto_join is of observers"),
        ({"unformatted": 2, "observers": 1}, "unformatted are observers: 2 of 1"),
        ({"unformatted": 1, "observers": 1, "kraft_version": 0}, "are of kraft_version 1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        family("quorum").draw(SeededChooser(1), options)


def test_a_cluster_whose_quorum_changes() -> None:
    """Its parts are joined as before, by the judge of what joins them."""
    part = Part(simulate_part("cluster", 3, 0, 3, options=CLUSTER))
    assert {*part.tables["runs"]["verdict"].to_pylist()} == {PROGRESSED}
    assert check_runs(part) == []
    assert {"HandleAddVoter", "HandleRemoveVoter", "HandleFetchSnapshotResponse"} <= {*part.action}


def test_a_broker_reads_what_its_observer_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that reads all that anybody knows is found out."""
    read = Brokers.read

    def watched(self: Any, node: int, end: int) -> None:
        ahead.append(self._ends[end - 1] > self._world.has_heard(node).end)
        read(self, node, end)

    monkeypatch.setattr(Brokers, "read", watched)
    ahead: list[bool] = []
    simulate_run("cluster", 3, 1, None, CLUSTER)
    assert ahead and not any(ahead)
    monkeypatch.setattr(Brokers, "_known", lambda self, node: len(self.metadata))
    simulate_run("cluster", 3, 1, None, CLUSTER)
    assert any(ahead)


def test_what_came_as_a_snapshot_is_one_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """V27. Even of brokers that read one batch after the other."""
    folds: list[int] = []
    read = Brokers.read

    def watched(self: Any, node: int, end: int) -> None:
        start = self._position[node]
        heard = self._world.has_heard(node)
        if start < end and self._ends[start] <= heard.start:
            folds.append(sum(at <= heard.start for at in self._ends[start:]) - (end - start))
        read(self, node, end)

    monkeypatch.setattr(Brokers, "read", watched)
    for run in range(2):
        simulate_run("cluster", 3, run, None, {**CLUSTER, "folding": 0, "quorum_snapshots": 20})
    assert folds and not any(folds)


def test_a_bug_of_voters_in_a_cluster() -> None:
    asked = {name: value for name, value in CLUSTER.items() if "snapshots" not in name}
    verdicts = (simulate_run("cluster", 3, run, "Z19", asked).result.verdict for run in range(12))
    assert STOPPED in verdicts
