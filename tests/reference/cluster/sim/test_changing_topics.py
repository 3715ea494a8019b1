"""Runs of a cluster whose topics are deleted and made again, whose partitions become more, whose
brokers stop cleanly or are forgotten, and have racks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from kraftcheck.reference.cluster.others import misinformed
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.moving.handlers import MovingController
from kraftcheck.reference.partition.moving.messages import OtherPartitions
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import (
    Constants,
    MovingBrokerRow,
    MovingControllerRow,
    initial_moving_controller,
    is_there,
    was_deleted,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import Run, simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import family, protocols_under
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.steps.check import check_runs
from kraftcheck.traces.steps.record import Part

TOPICS = {"topic_changes": 4}
BROKERS = {"shutdowns": 6, "unregistrations": 2}
RACKS = {"topic_changes": 6, "second_rack": [2, 3], "brokers": 4}
ALL = {"topic_changes": 2, **BROKERS, "reassignments": 6}


def run_of(run: int, options: Mapping[str, Any], bug: str | None = None) -> Run:
    return simulate_run("cluster", 7, run, bug, options)


@cache
def runs() -> tuple[Run, ...]:
    return tuple([run_of(run, ALL) for run in range(24)])


@pytest.mark.slow
def test_all_of_it_happens_and_every_run_makes_progress() -> None:
    assert {run.result.verdict for run in runs()} == {PROGRESSED}
    done: Counter[str] = Counter()
    for step in [step for run in runs() for step in run.steps]:
        old, new = step.before, step.after
        if isinstance(new, MovingControllerRow):
            was, now = old.partition, new.partition
            done["made"] += is_there(now) and not is_there(was)
            done["deleted"] += is_there(was) and was_deleted(now)
            done["refused"] += step.action == "HandleCreatePartition" and bool(step.ignored)
            done["held back"] += bool(new.held) and not old.held
            forgets = step.action == "HandleUnregisterBroker"
            done["forgotten"] += forgets and not step.ignored
            done["leaves the ISR"] += forgets and was.isr != now.isr
        if isinstance(new, MovingBrokerRow):
            gone = was_deleted(new.image.partition)
            done["log deleted"] += gone and bool(old.log) and not new.log
            done["stopped"] += old.status == "ShuttingDown" and new.clean_shutdown >= 0
    for what in (
        *("made", "deleted", "refused", "held back", "forgotten", "leaves the ISR"),
        *("log deleted", "stopped"),
    ):
        assert done[what], what


def test_a_new_topic_is_written_and_read() -> None:
    """Its clients find it under the name of the one that was deleted."""
    found: Counter[str] = Counter()
    for run in [run_of(run, {**TOPICS, "appends": 12}) for run in range(12)]:
        constants: Any = run.result.constants
        first = sum([bool(each.first_replicas) for each in constants.partitions])
        for each in run.result.history:
            if each.partition is not None and each.partition >= first and each.outcome == "ok":
                found[each.op] += 1
    assert found["append"] > 20
    assert found["fetch"] > 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        ("cluster", ALL),
        ("cluster", RACKS),
        (
            "cluster",
            {
                **{**ALL, "topics": 2, "topic_partitions": 1, "hot_topic": "topic-1"},
                **{"quorum_voter_changes": 3, "quorum_observers": 1, "quorum_snapshots": 8},
                **{"observing": True, "stale_answers": True},
            },
        ),
        ("groups-on-cluster", {"topic_changes": 3, "shutdowns": 3}),
    ],
)
def test_its_parts_are_joined(scenario: str, options: Mapping[str, Any]) -> None:
    """The log of a coordinator stays; the other topic is deleted."""
    part = Part(simulate_part(scenario, 7, 0, 3, options=options))
    assert {*part.tables["runs"]["verdict"].to_pylist()} == {PROGRESSED}
    assert check_runs(part) == []
    assert "HandleRemoveTopic" in {*part.action}


@pytest.mark.slow
def test_partitions_that_may_come_to_be_are_declared() -> None:
    constants: Any = runs()[0].result.constants
    assert [bool(each.first_replicas) for each in constants.partitions].count(False) >= 2
    assert all(isinstance(each, Constants) for each in constants.partitions)
    for options in (TOPICS, {"shutdowns": 1}, {"unregistrations": 1}, {"second_rack": [1]}):
        assert [p.name for p in protocols_under("cluster", options)] == ["quorum", "moving"]
    assert [p.name for p in protocols_under("cluster", {"shutdowns": 0})] == ["quorum", "partition"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "options", "violated"),
    [
        ("Z130", ALL, "IsrElrAreReplicas"),
        ("Z131", {"topic_changes": 1, "reassignments": 8}, "TargetReached"),
        ("Z133", ALL, "IsrElrAreReplicas"),
        ("Z134", ALL, "EpochsGrow"),
        ("Z135", ALL, "ValidControllerState"),
        ("Z193", RACKS, "SpreadOverRacks"),
    ],
)
def test_a_known_bug_is_found(bug: str, options: Mapping[str, Any], violated: str) -> None:
    for run in range(100):
        if violated in [each.invariant for each in run_of(run, options, bug).result.violations]:
            return
    pytest.fail(f"{bug} is in none of 100 runs")


def _unclean(self: Any, registration: Any, m: Any) -> bool:
    """Who was forgotten has no epoch, and comes with none: as if nothing had happened."""
    return PartitionRules.is_unclean_restart(self, registration, m)


@pytest.mark.parametrize(
    ("of", "name", "wrong", "options", "violated"),
    [
        (MovingRules, "is_of_deleted_topic", lambda *_: False, TOPICS, "LocalChangesSound"),
        (
            *(MovingRules, "is_unclean_restart", _unclean),
            {"unregistrations": 4, "crashes": 8, "lossy": 1000, "elr": True},
            "LeaderCandidateCompleteness",
        ),
        (
            *(MovingController, "handle_controller_failover"),
            PartitionControllerHandlers.handle_controller_failover,
            {"shutdowns": 6, "quorum_resignations": 4},
            "ReplayAgrees",
        ),
    ],
)
def test_a_rule_that_is_wrong_is_found(
    of: type,
    name: str,
    wrong: Any,
    options: Mapping[str, Any],
    violated: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of, name, wrong)
    # What is known of steps would hide it, and would keep it.
    taken = simulate_part("cluster", 7, 0, 16, options=options, memo=False)
    violations = taken.tables["runs"]["violations"].to_pylist()
    assert violated in {each["invariant"] for of_run in violations for each in of_run}


def test_what_a_controller_is_told_of_others_that_is_not_so_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part = Part(simulate_part("cluster", 7, 0, 8, options={"shutdowns": 6}))
    assert check_runs(part) == []
    monkeypatch.setattr("kraftcheck.reference.cluster.others._holds_back", lambda *_: False)
    found = {each.check: each.explanation for each in check_runs(part)}
    assert "it is told that others hold back broker" in found["Committed"]


def test_who_is_told_the_truth_is_not_misinformed() -> None:
    constants = Constants(replicas=(0, 1), min_insync_replicas=1, first_replicas=())
    row = initial_moving_controller(constants)
    assert misinformed((0, 1), [row], OtherPartitions(1, hold=False)) == ""
    assert "which is False" in misinformed((0, 1), [row], OtherPartitions(1, hold=True))
    assert misinformed((0, 1), [], None) == ""


@pytest.mark.slow
def test_a_run_is_told_with_what_changes() -> None:
    told = "\n".join(narrate(runs()[1]))
    assert "topic_changes=2" in told
    assert "RemoveTopic" in told
    assert "CreatePartition replicas=" in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"topic_changes": 2, "spare_partitions": 0}, "topic_changes need spare_partitions"),
        ({"topic_partitions": 4, "spare_partitions": 5}, "9 partitions, of which 5 are spare"),
        ({"second_rack": [0, 1, 2], "brokers": 3}, "second_rack has not some"),
        ({"second_rack": [7], "brokers": 3}, "second_rack has not some"),
        ({"unregistrations": -1}, "unregistrations is -1"),
        ({"topic_changes": "many"}, "topic_changes: expected int"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        family("cluster").draw(SeededChooser(1), options)
