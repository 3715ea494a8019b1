"""What runs in which replicas move should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.partition.reassignment.messages import (
    AlterPartition,
    CancelReassignment,
    CreateTopic,
    DeleteTopic,
    DirectoryFailure,
    ElectPartitionLeader,
    FenceBroker,
    PlacePartition,
    PlaceTopic,
    Reassign,
    RegisterBroker,
    ShutDownBroker,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.types import MovingPartition, TopicRow
from kraftcheck.reference.partition.types import NOBODY

sometimes = Conditions()


def _moves(partition: MovingPartition) -> bool:
    return bool(partition.adding or partition.removing)


def _at(row: TopicRow, number: int) -> MovingPartition | None:
    """The partition of this number; they count from 1."""
    return row.partitions[number - 1] if 1 <= number <= len(row.partitions) else None


@sometimes(AlterPartition)
def reassignment_completes(before: TopicRow, after: TopicRow, input: AlterPartition) -> bool:
    """All that are added are in sync, and those that are removed are gone."""
    was, now = _at(before, input.partition), _at(after, input.partition)
    return was is not None and now is not None and _moves(was) and not _moves(now)


@sometimes(AlterPartition)
def leader_is_moved_away(before: TopicRow, after: TopicRow, input: AlterPartition) -> bool:
    """A reassignment ends in which the leader was removed."""
    was, now = _at(before, input.partition), _at(after, input.partition)
    return was is not None and now is not None and was.leader in {*was.removing} - {*now.replicas}


@sometimes(Reassign)
def target_changes_while_replicas_move(before: TopicRow, after: TopicRow, input: Reassign) -> bool:
    """Other replicas are asked for before those asked for last have arrived."""
    was, now = _at(before, input.partition), _at(after, input.partition)
    return was is not None and was != now and _moves(was)


@sometimes(CancelReassignment)
def reassignment_is_cancelled(before: TopicRow, after: TopicRow, input: CancelReassignment) -> bool:
    """Replicas that were moving go back to where they were."""
    was, now = _at(before, input.partition), _at(after, input.partition)
    return was is not None and now is not None and _moves(was) and not _moves(now)


@sometimes(CancelReassignment)
def cancelling_is_refused(before: TopicRow, after: TopicRow, input: CancelReassignment) -> bool:
    """A reassignment is not cancelled, though one is under way."""
    was = _at(before, input.partition)
    return was is not None and _moves(was) and before == after


@sometimes(FenceBroker, ShutDownBroker, UnregisterBroker)
def added_replica_goes_while_it_catches_up(before: TopicRow, input: FenceBroker) -> bool:
    """A broker goes that is being added to a partition."""
    return any(input.broker in partition.adding for partition in before.partitions)


@sometimes(FenceBroker, UnregisterBroker)
def partition_loses_its_last_leader(before: TopicRow, after: TopicRow) -> bool:
    """A partition that had a leader has none."""
    pairs = zip(before.partitions, after.partitions, strict=False)
    return any(was.leader != NOBODY == now.leader for was, now in pairs)


@sometimes(RegisterBroker)
def unclean_broker_was_eligible(before: TopicRow, after: TopicRow, input: RegisterBroker) -> bool:
    """A broker that may have lost records registers while the ELR of a partition has it."""
    return not input.clean and any(input.broker in each.elr for each in before.partitions)


@sometimes(DirectoryFailure)
def directory_of_a_leader_fails(before: TopicRow, after: TopicRow) -> bool:
    """A directory fails, and a partition gets another leader or none."""
    pairs = zip(before.partitions, after.partitions, strict=False)
    return any(was.leader not in (NOBODY, now.leader) for was, now in pairs)


@sometimes(ElectPartitionLeader)
def leader_is_elected_uncleanly(before: TopicRow, after: TopicRow) -> bool:
    """Somebody leads who was neither in the ISR nor in the ELR."""
    pairs = zip(before.partitions, after.partitions, strict=False)
    return any(
        now.leader not in (NOBODY, was.leader) and now.leader not in (*was.isr, *was.elr)
        for was, now in pairs
    )


@sometimes(DeleteTopic)
def topic_is_deleted_while_replicas_move(before: TopicRow) -> bool:
    """A topic goes in the middle of a reassignment."""
    return any(map(_moves, before.partitions))


@sometimes(CreateTopic)
def topic_comes_again(before: TopicRow, after: TopicRow) -> bool:
    """A topic is created after one of that name was deleted."""
    return after != before and before.topics_made > 0


@sometimes(PlacePartition, PlaceTopic)
def replicas_are_placed_while_a_broker_is_fenced(before: TopicRow, after: TopicRow) -> bool:
    """A partition is placed over racks, and not everybody is there."""
    absent = any(each.state != "Active" for each in before.registrations)
    return absent and len(after.partitions) > len(before.partitions)
