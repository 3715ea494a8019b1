"""Runs of a cluster in which an administrator has replicas move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from kraftcheck.conformance import known_bug
from kraftcheck.reference.bugs.catalog import OutOfScope
from kraftcheck.reference.partition.moving.handlers import MovingBrokers
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import (
    Constants,
    MovingBrokerRow,
    MovingControllerRow,
)
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import family, protocols_under
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

MOVING = {"reassignments": 6}
CHANGING = {
    **{"quorum_voter_changes": 3, "quorum_observers": 1, "quorum_snapshots": 8},
    **{"observing": True, "stale_answers": True},
}


def run_of(run: int, bug: str | None = None, options: Mapping[str, Any] | None = None) -> Run:
    return simulate_run("cluster", 7, run, bug, MOVING if options is None else options)


@cache
def runs() -> tuple[Run, ...]:
    return tuple([run_of(run) for run in range(12)])


def test_all_of_it_happens_and_every_run_makes_progress() -> None:
    assert {run.result.verdict for run in runs()} == {PROGRESSED}
    done: Counter[str] = Counter()
    for step in [step for run in runs() for step in run.steps]:
        old, new = step.before, step.after
        if isinstance(new, MovingControllerRow):
            was, now = old.partition, new.partition
            moved = bool(was.adding or was.removing)
            done["begins"] += bool(now.adding or now.removing) and not moved
            done["over a running one"] += moved and bool(now.adding) and was.adding != now.adding
            ends = moved and not (now.adding or now.removing)
            done[f"ends by {step.action}"] += ends
            done["leader moves"] += ends and was.leader in was.removing
        if isinstance(new, MovingBrokerRow):
            left = old.role != "None" and new.role == "None" and new.status == "Running"
            done[f"{old.role} leaves"] += left
            done["log deleted"] += left and bool(old.log)
    for what in (
        *("begins", "over a running one", "leader moves", "log deleted"),
        *("Leader leaves", "Follower leaves", "ends by HandleAlterPartitionRequest"),
        *("ends by HandleGiveUpReassignment", "ends by HandleReassignReplicas"),
    ):
        assert done[what], what


def test_runs_with_the_option_and_without_share_nothing_that_is_known() -> None:
    """Their messages have the same names and perhaps the same content, and are of two types."""
    for options in ({}, MOVING, {}, MOVING):
        assert {run_of(run, None, options).result.verdict for run in range(2)} == {PROGRESSED}


def test_its_parts_are_joined() -> None:
    part = Part(simulate_part("cluster", 7, 0, 4, options=MOVING))
    assert check_runs(part) == []
    asked = {*part.action}
    assert {"HandleReassignReplicas", "HandleGiveUpReassignment", "HandleElectLeaders"} <= asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        ("cluster", {**MOVING, **CHANGING}),
        ("cluster", {**MOVING, "topics": 2, "brokers": 5}),
        ("groups-on-cluster", {"reassignments": 4}),
    ],
)
def test_it_goes_with_what_else_may_change(scenario: str, options: Mapping[str, Any]) -> None:
    """The log of a coordinator may be a partition that moves."""
    part = Part(simulate_part(scenario, 7, 0, 3, options=options))
    assert {*part.tables["runs"]["verdict"].to_pylist()} == {PROGRESSED}
    assert check_runs(part) == []
    assert "HandleReassignReplicas" in {*part.action}


def test_all_brokers_have_a_row_and_first_replicas_are_those_placed() -> None:
    constants: Any = runs()[0].result.constants
    for each in constants.partitions:
        assert isinstance(each, Constants)
        assert each.replicas == constants.brokers == (0, 1, 2, 3)
        assert protocol_of(each).name == "moving"
    assert [p.name for p in protocols_under("cluster", MOVING)] == ["quorum", "moving"]
    assert [p.name for p in protocols_under("cluster", {})] == ["quorum", "partition"]


@pytest.mark.parametrize(
    ("bug", "run", "violated"),
    [
        ("Z130", 0, "IsrElrAreReplicas"),
        ("Z131", 0, "TargetReached"),
        ("Z133", 70, "IsrElrAreReplicas"),
        ("Z134", 0, "EpochsGrow"),
    ],
)
def test_a_bug_of_reassignments_is_found(bug: str, run: int, violated: str) -> None:
    assert known_bug(bug, "cluster", MOVING) == bug
    assert violated in [each.invariant for each in run_of(run, bug).result.violations]


def test_a_deletion_told_early_is_found_where_replicas_move() -> None:
    """The property of `moving` is its own, and finds what that of `partition` does."""
    found = [run_of(run, "Z308").result.violations for run in range(8)]
    assert "DeletedEverywhere" in {each.invariant for of_run in found for each in of_run}


def test_a_bug_of_reassignments_needs_the_option() -> None:
    with pytest.raises(OutOfScope, match="scenario cluster never uses the rules"):
        known_bug("Z130", "cluster", {})


@pytest.mark.parametrize(
    ("of", "name", "wrong", "violated"),
    [
        (MovingRules, "has_left", lambda *_: False, "LocalChangesSound"),
        (MovingBrokers, "left", lambda self, row: row, "LocalChangesSound"),
    ],
)
def test_a_broker_that_keeps_what_it_must_delete_is_found(
    of: type, name: str, wrong: Any, violated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of, name, wrong)
    # What is known of steps would hide it, and would keep it.
    taken = simulate_part("cluster", 7, 0, 3, options=MOVING, memo=False)
    violations = taken.tables["runs"]["violations"].to_pylist()
    assert violated in {each["invariant"] for of_run in violations for each in of_run}


def test_who_was_no_replica_for_a_while_may_lack_what_a_deposed_leader_calls_committed() -> None:
    """As long as that leader has not read it. WeakIsr of a partition would take it for a loss."""
    assert run_of(4).result.violations == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "kraftcheck.reference.partition.moving.properties._left_since", lambda *_: False
        )
        found = simulate_part("cluster", 7, 4, 1, options=MOVING, memo=False)
    (violations,) = found.tables["runs"]["violations"].to_pylist()
    assert [each["invariant"] for each in violations] == ["WeakIsr"]


def test_a_run_is_told_with_its_lists() -> None:
    told = "\n".join(narrate(runs()[1]))
    assert "reassignments=6" in told
    assert "ReassignReplicas target=" in told
    assert "/0123+0-23" in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"reassignments": 2, "brokers": 3, "replicas": 3}, "ask for brokers=4"),
        ({"reassignments": -1}, "reassignments is -1"),
        ({"reassignments": "many"}, "reassignments: expected int"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        family("cluster").draw(SeededChooser(1), options)


RARE: dict[str, tuple[int, dict[str, Any], str]] = {
    "Z132": (
        22,
        {"min_insync_replicas": 3, "replicas": 3, "brokers": 5},
        "ReassignmentKeepsMinIsr",
    ),
    "Z135": (
        3,
        {"replicas": 1, "brokers": 3, "topic_partitions": 1, "crashes": 6, "unclean": False},
        "ValidControllerState",
    ),
}
"""What few runs meet: the run of seed 5 that does, and its options besides twelve lists."""


@pytest.mark.parametrize("bug", RARE)
def test_a_bug_that_few_runs_meet(bug: str) -> None:
    run, options, violated = RARE[bug]
    asked = {"reassignments": 12, **options}
    found = simulate_run("cluster", 5, run, bug, asked).result
    assert {each.invariant for each in found.violations} == {violated}
    assert not simulate_run("cluster", 5, run, None, asked).result.violations
