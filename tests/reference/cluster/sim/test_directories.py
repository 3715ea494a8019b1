"""Runs of a cluster whose brokers have several log directories, which fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from kraftcheck.conformance import known_bug
from kraftcheck.reference.bugs.catalog import OutOfScope
from kraftcheck.reference.partition.directories.handlers import (
    DirectoryBrokers,
    DirectoryController,
)
from kraftcheck.reference.partition.directories.sim.machine import DirectoryMachine
from kraftcheck.reference.partition.directories.types import (
    Constants,
    DirectoryBrokerRow,
    DirectoryControllerRow,
    is_offline,
)
from kraftcheck.reference.partition.moving.handlers import MovingController
from kraftcheck.reference.partition.moving.sim.machine import MovingMachine
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import family, protocols_under
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

FAILING = {"directories": 2, "directory_failures": 6}
MOVING = {**FAILING, "reassignments": 6}
ALL = {
    **{**MOVING, "directories": 3, "topic_changes": 2, "shutdowns": 6, "unregistrations": 2},
    **{"quorum_voter_changes": 3, "quorum_observers": 1, "quorum_snapshots": 8},
    **{"observing": True, "stale_answers": True},
}


def run_of(run: int, options: Mapping[str, Any], bug: str | None = None) -> Run:
    return simulate_run("cluster", 7, run, bug, options)


@cache
def runs() -> tuple[Run, ...]:
    return tuple([run_of(run, MOVING) for run in range(16)])


def test_all_of_it_happens_and_every_run_makes_progress() -> None:
    assert {run.result.verdict for run in runs()} == {PROGRESSED}
    done: Counter[str] = Counter()
    for step in [step for run in runs() for step in run.steps]:
        old, new = step.before, step.after
        if isinstance(new, DirectoryControllerRow):
            was, now = old.partition, new.partition
            fails = step.action == "HandleHeartbeatRequest" and old.disks != new.disks
            done["a leader is in a directory that fails"] += fails and was.leader != now.leader
            done["out of the ISR"] += fails and was.isr != now.isr
            told = step.action == "HandleAssignReplicasToDirs"
            done["a directory is assigned"] += told and was.directories != now.directories
        if isinstance(new, DirectoryBrokerRow):
            done[f"{old.role} goes offline"] += is_offline(new) and not is_offline(old)
            forgotten = is_offline(old) and not new.directory
            done["an offline replica is forgotten"] += forgotten
            made = not old.directory and bool(new.directory)
            done["made where one has failed"] += made and len(new.online) == 1
            done["comes back"] += is_offline(old) and new.status == "Down"
    for what in (
        *("a leader is in a directory that fails", "out of the ISR", "a directory is assigned"),
        *("Leader goes offline", "Follower goes offline", "an offline replica is forgotten"),
        *("made where one has failed", "comes back"),
    ):
        assert done[what], what


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "options"),
    [("cluster", MOVING), ("cluster", ALL), ("groups-on-cluster", FAILING)],
)
def test_its_parts_are_joined(scenario: str, options: Mapping[str, Any]) -> None:
    part = Part(simulate_part(scenario, 7, 0, 3, options=options))
    assert {*part.tables["runs"]["verdict"].to_pylist()} == {PROGRESSED}
    assert check_runs(part) == []
    assert "HandleLogDirFailure" in {*part.action}


def test_partitions_are_in_turn_in_each_directory_at_first() -> None:
    constants: Any = runs()[0].result.constants
    for number, each in enumerate(constants.partitions):
        assert isinstance(each, Constants)
        assert each.directories == (1, 2)
        assert each.first_directory == 1 + number % 2
        assert protocol_of(each).name == "directories"
    assert [p.name for p in protocols_under("cluster", FAILING)] == ["quorum", "directories"]


@pytest.mark.parametrize(
    ("bug", "options", "violated"),
    [
        ("Z139", MOVING, {"NothingIsHeld", "LocalChangesSound"}),
        ("Z160", {**MOVING, "crashes": 6, "partitions": 3}, {"OfflineDirNeverLeads"}),
        ("Z137", FAILING, {"StrongIsr", "WeakIsr", "LeaderCandidateCompleteness"}),
        ("Z130", MOVING, {"IsrElrAreReplicas"}),
    ],
)
def test_a_known_bug_is_found(bug: str, options: Mapping[str, Any], violated: set[str]) -> None:
    assert known_bug(bug, "cluster", options) == bug
    for run in range(100):
        if found := {each.invariant for each in run_of(run, options, bug).result.violations}:
            assert found <= violated
            return
    pytest.fail(f"{bug} is in none of 100 runs")


def test_a_bug_of_directories_needs_the_option() -> None:
    for bug in ("Z137", "Z139"):
        with pytest.raises(OutOfScope, match="scenario cluster never uses the rules"):
            known_bug(bug, "cluster", {"reassignments": 6})


@pytest.mark.parametrize(
    ("of", "name", "wrong", "violated"),
    [
        (DirectoryBrokers, "without_replica", lambda self, row: self.left(row), "NothingIsHeld"),
        (
            *(DirectoryController, "handle_heartbeat_request"),
            *(MovingController.handle_heartbeat_request, "progress"),
        ),
        (DirectoryMachine, "replayed", MovingMachine.replayed, "ReplayAgrees"),
    ],
)
def test_what_is_wrong_with_directories_is_found(
    of: type, name: str, wrong: Any, violated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of, name, wrong)
    # What is known of steps would hide it, and would keep it.
    taken = simulate_part("cluster", 7, 0, 8, options=MOVING, memo=False).tables["runs"]
    found = {each["invariant"] for of_run in taken["violations"].to_pylist() for each in of_run}
    found |= {"progress"} if {*taken["verdict"].to_pylist()} - {PROGRESSED} else set()
    assert violated in found


def test_a_run_is_told_with_its_directories() -> None:
    told = "\n".join(narrate(runs()[1]))
    assert "directories=2" in told
    assert "LogDirFailure directory=" in told
    assert " @1!" in told or " @2!" in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"directories": 1}, "directories is 1, which is none of 2 to 4"),
        ({"directories": 5}, "directories is 5, which is none of 2 to 4"),
        ({"directory_failures": 3}, "ask for directories=2"),
        ({"directories": 2, "directory_failures": -1}, "directory_failures is -1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        family("cluster").draw(SeededChooser(1), options)
