"""Searches in a cluster whose replicas move and whose quorum changes; and shows that they find.

As in test_quorum_machine.py: the first test is the search, as hard as the profile says; the others
hold searcher and schedules to account.
"""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.runner.scripted import begin, replay
from kraftcheck.reference.steered.moves import Move
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.jobs.steered import broken_promise
from tests.stateful import searching
from tests.stateful.cluster_machine import (
    CHANGES,
    ChangingClusterMachine,
    changes_with,
    directories_with,
)
from tests.stateful.cluster_schedule import ClusterSchedule, cluster_of
from tests.stateful.detecting import CHANGING, budget, campaign, search
from tests.stateful.schedule import Violation

MOST = 80
"""Calm moves: a disk that stalls leaves some to make for ever."""


@pytest.mark.slow
def test_the_search_finds_nothing() -> None:
    searching.search(ChangingClusterMachine)
    searching.refuse_few([ChangingClusterMachine.name])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "number", "violated"),
    [
        ("Z130", 3, "IsrElrAreReplicas"),
        ("Z19", 5, "OneChangeAtATime"),
        ("Z120", 2, "PrefixKeepsCommitted"),
    ],
)
def test_a_bug_of_what_changes_is_found(id: str, number: int, violated: str) -> None:
    found = search(CHANGING, id, number, budget(200))
    assert found.how == violated and found.script is not None
    assert found.script.machine == "cluster"
    told = replay(found.script, broken_promise)
    assert told.failure is not None and told.failure.name == violated
    unharmed = Script(
        machine="cluster", options=found.script.options, moves=found.script.moves[:-1]
    )
    assert replay(unharmed, broken_promise, skip=True).failure is None


@pytest.mark.slow
def test_a_campaign_beside_it_is_judged_step_by_step() -> None:
    """Steps of a run that breaks nothing, too, each as one of its own part."""
    found = campaign(CHANGING, "Z112", 1, 3.0)
    assert found.tried > 1


def test_a_directory_fails_by_a_move_and_the_broker_goes_on() -> None:
    """Its replica of one partition is there; that of the other, which it leads, is not."""
    schedule = calm(cluster_of(moving=True, directories=2))
    the([*schedule.possible()], "directory 1 of broker 1 fails").make()
    calm(schedule)
    first, second = [each.controller.partition for each in schedule.partitions[:2]]
    assert (first.isr, second.isr, second.leader) == ((0, 2), (1, 2, 3), 1)
    last = "directory 2 of broker 1 fails"
    assert last not in [move.words for move in schedule.possible()]
    assert schedule.progress() == ""
    assert schedule.partitions[0].controller.partition.isr == (0, 1, 2)


def test_a_bug_of_directories_is_found_by_moves_and_replayed() -> None:
    """Z139: removed while its directory has failed, the replica is not forgotten."""
    schedule = calm(cluster_of(moving=True, directories=2, bug="Z139"))
    the([*schedule.possible()], "directory 1 of broker 0 fails").make()
    calm(schedule)
    the([*schedule.possible()], "partition 0: ReassignReplicas target=1,2,3").make()
    with pytest.raises(Violation) as found:
        calm(schedule)
    assert found.value.name == "NothingIsHeld"
    script = Script(
        machine="cluster", options=schedule.setting(), moves=tuple(schedule.moves), bug="Z139"
    )
    told = replay(script, broken_promise)
    assert told.failure is not None and told.failure.name == "NothingIsHeld"


def test_a_bug_is_drawn_with_what_it_is_of() -> None:
    assert directories_with("Z139") == [2, 3]
    assert directories_with("Z130") == directories_with(None) == [1, 2, 3]
    assert changes_with(None) == changes_with("Z130") == [*CHANGES]
    assert all("snapshots" in each for each in changes_with("Z111"))
    assert all(each and "snapshots" not in each for each in changes_with("Z110"))


def calm(schedule: ClusterSchedule) -> ClusterSchedule:
    for _ in range(MOST):
        if not schedule.calm():
            break
    return schedule


def the(moves: list[Move], words: str) -> Move:
    return next(move for move in moves if words in move.words)


def sets(schedule: ClusterSchedule) -> set[tuple[int, ...]]:
    """Those that nodes of the quorum know."""
    rows: Any = schedule.voters.named_rows().values()
    return {getattr(row, "voter", row).history[-1].voters for row in rows}


@pytest.mark.parametrize("changes", CHANGES[1:], ids=str)
def test_a_voter_comes_and_one_goes(changes: dict[str, Any]) -> None:
    schedule = calm(cluster_of(changes=changes))
    if "kraft_version" in changes:
        for voter in (1, 2):
            the(schedule.changes(), f"{voter} UpdateVoterTimeout").make()
            calm(schedule)
        the(schedule.changes(), "0 UpgradeKraftVersion").make()
        calm(schedule)
    the(schedule.changes(), "3 FetchFromBootstrap peer=0").make()
    calm(schedule)
    asked = "3 AutoJoinTimeout" if "auto_join" in changes else "0 AddVoter voter=3"
    the(schedule.changes(), asked).make()
    calm(schedule)
    assert (0, 1, 2, 3) in sets(schedule)
    the(schedule.changes(), "0 RemoveVoter voter=1").make()
    calm(schedule)
    assert schedule.progress() == ""
    assert (0, 2, 3) in sets(schedule)
    again = begin(Script(machine="cluster", moves=(), options=schedule.setting()))
    for words in schedule.moves:
        next(move for move in again.possible() if move.words == words).make()
    assert again.named_rows() == schedule.named_rows()


def test_a_voter_that_is_one_already_is_refused() -> None:
    schedule = calm(cluster_of(changes={"observers": 1}))
    the(schedule.changes(), "0 AddVoter voter=1").make()
    assert [*schedule.steps()][-1].ignored == "DUPLICATE_VOTER"


def test_a_snapshot_is_made_and_fetched_by_who_has_nothing() -> None:
    schedule = calm(cluster_of(changes={"observers": 1, "snapshots": 0}))
    made = [move for move in schedule.changes() if "0 CreateSnapshot" in move.words]
    made[-1].make()
    the(schedule.changes(), "0 CleanSnapshots").make()
    the(schedule.changes(), "3 FetchFromBootstrap peer=0").make()
    calm(schedule)
    assert any(step.action == "HandleFetchSnapshotResponse" for step in schedule.steps())


def test_of_two_voters_the_leader_is_not_removed() -> None:
    """As in the simulator: Z164."""
    schedule = calm(cluster_of(changes={"observers": 1}))
    the(schedule.changes(), "0 RemoveVoter voter=2").make()
    calm(schedule)
    words = [move.words for move in schedule.changes()]
    assert "quorum: 0 RemoveVoter voter=1" in words
    assert "quorum: 0 RemoveVoter voter=0" not in words


def snapshots_of(schedule: ClusterSchedule, kind: str) -> list[Move]:
    return [move for move in schedule.changes() if kind in move.words]


def test_a_snapshot_that_is_gone_while_it_is_fetched() -> None:
    """What a search need not reach (reached.py)."""
    schedule = calm(cluster_of(changes={"observers": 1, "snapshots": 0}))
    first, *_, last = snapshots_of(schedule, "0 CreateSnapshot")
    first.make()
    snapshots_of(schedule, "0 CleanSnapshots")[-1].make()
    the(schedule.changes(), "3 FetchFromBootstrap peer=0").make()
    while not any("FetchSnapshotRequest" in move.words for move in schedule.voters.arrivals()):
        assert schedule.calm()
    last.make()
    snapshots_of(schedule, "0 CleanSnapshots")[-1].make()
    calm(schedule)
    sent = [message for step in schedule.steps() for message in step.sent]
    assert "SNAPSHOT_NOT_FOUND" in {getattr(message, "error", "") for message in sent}
    assert schedule.progress() == ""


def test_a_leader_that_is_unregistered_while_it_asks_for_another_isr() -> None:
    """Its request has an epoch of before; what a search need not reach (reached.py)."""
    schedule = calm(cluster_of(moving=True))
    for words in (
        *("partition 0: ProduceRequest", "broker 0 ReplicaLagTimeout replica=2"),
        *("broker 0 IsrShrinkTimeout", "broker 0 SendAlterPartition"),
        *("the controller is to forget broker 0", "deliver broker 0 to the controller"),
    ):
        the([*schedule.possible()], words).make()
    calm(schedule)
    answers = [
        getattr(step.input, "error", "")
        for step in schedule.steps()
        if step.action == "HandleAlterPartitionResponse"
    ]
    assert answers == ["STALE_BROKER_EPOCH"]
