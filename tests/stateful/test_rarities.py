"""What a search meets rarely, made by hand: so it can be reached, and a long search owes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered import schedule as steered
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.sim.memo import Memos
from tests.stateful import reached

DROP = (
    "broker 0 ReplicaLagTimeout replica=1",
    "broker 0 IsrShrinkTimeout",
    "broker 0 SendAlterPartition",
    "the controller AlterPartitionRequest",
    "broker 0 AlterPartitionResponse",
)
"""The leader goes on without replica 1."""
HEARTBEAT = (
    "broker 1 reads",
    "broker 1 SendHeartbeat",
    "the controller HeartbeatRequest 1",
    "broker 1 HeartbeatResponse",
)


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Decisions are noted while a test lasts; nothing is remembered from before."""
    monkeypatch.setattr(reached, "counts", {"partition": Counter()})
    monkeypatch.setattr(reached, "_judging", ["partition"])
    monkeypatch.setattr(steered, "memos", Memos())
    for name in reached._decisions(PartitionRules):
        noted = reached._noted(f"decision PartitionRules.{name}", getattr(PartitionRules, name))
        monkeypatch.setattr(PartitionRules, name, noted)
    yield


def begin(replicas: int = 3, elr: bool = True) -> PartitionSchedule:
    """A leader, broker 0, with a record that nobody has copied yet."""
    options = PartitionOptions(replicas=replicas, elr=elr, idempotence=False)
    schedule = PartitionSchedule(options)
    while schedule.calm():
        pass
    schedule.produce(0, -1)
    return schedule


def make(schedule: PartitionSchedule, *moves: str) -> None:
    """The first possible move that begins with these words, for each of them."""
    for words in moves:
        next(move for move in schedule.possible() if move.words.startswith(words)).make()


def errors(schedule: PartitionSchedule) -> set[str]:
    sent = [message.value for step in schedule.recorder.distinct for _, message in step.sent]
    return {getattr(message, "error", "NONE") for message in sent}


def was_decided(name: str, said: str) -> bool:
    return reached.of("partition")[f"decision PartitionRules.{name}: {said}"] > 0


def test_a_proposal_that_a_fencing_overtakes() -> None:
    schedule = begin()
    make(schedule, *DROP[:3], "the controller SessionTimeout broker=2", DROP[3])
    assert "INVALID_UPDATE_VERSION" in errors(schedule)


def test_metadata_that_is_older_than_what_the_leader_was_answered() -> None:
    schedule = begin()
    make(schedule, *DROP, "broker 0 ReplicaLagTimeout replica=2", *DROP[1:])
    make(schedule, "broker 0 reads 1 metadata")
    assert was_decided("is_outdated_partition", "yes")


def test_a_fetch_of_a_former_incarnation() -> None:
    schedule = begin()
    for _ in range(40):
        schedule.calm()
    schedule.crash(2, len(schedule.row(2).log), -1)
    make(schedule, "broker 2 BrokerRestart", "the controller SessionTimeout broker=2")
    for _ in range(60):
        schedule.calm()
    make(schedule, "broker 0 ReplicaFetchRequest 2>0 broker_epoch=0")
    assert was_decided("is_stale_replica", "yes")


def test_what_no_search_owes_is_made_here() -> None:
    made = reached.of("partition")
    owed = {name for name in reached.BY_HAND if "PartitionRules" in name}
    owed -= {"decision PartitionRules.is_final_error: no"}  # test_changing_cluster_machine.py
    assert not owed & set(made)
    test_metadata_that_is_older_than_what_the_leader_was_answered()
    test_a_replica_that_starts_again_while_it_is_asked_to_join()
    test_a_fetch_of_a_former_incarnation()
    assert owed <= set(made)


def test_a_replica_that_starts_again_while_it_is_asked_to_join() -> None:
    schedule = begin(replicas=2, elr=False)
    make(schedule, *DROP)
    fetch = ("broker 1 SendReplicaFetch", "broker 0 ReplicaFetchRequest")
    make(schedule, *fetch, "broker 1 ReplicaFetchResponse", *fetch, "broker 0 SendAlterPartition")
    make(schedule, "broker 1 BrokerCrash", "broker 1 BrokerRestart")
    make(schedule, "the controller SessionTimeout broker=1", "broker 1 SendRegistration")
    make(schedule, "the controller RegisterBrokerRequest", "broker 1 RegisterBrokerResponse")
    # The first says that it has caught up, the second that it wants to be in.
    make(schedule, *HEARTBEAT, *HEARTBEAT[1:3], "the controller AlterPartitionRequest")
    assert was_decided("isr_member_epoch_matches", "no")
    assert "INELIGIBLE_REPLICA" in errors(schedule)
