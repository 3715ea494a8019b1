"""Named decisions about moving replicas: the twin of specs/partition/moving/MovingRules.tla.

They are beside those of a partition and of a reassignment.

Law of this file: as that of reference/partition/rules.py. Which list comes, when it is complete and
who is eligible under it is decided in reference/partition/reassignment/rules.py.
"""

from __future__ import annotations

from typing import Any, TypeVar

from kraftcheck.reference.partition.messages import (
    AlterPartitionRequest,
    RegisterBrokerRequest,
    ReplicaFetchRequest,
)
from kraftcheck.reference.partition.moving.types import MovingBrokerRow, MovingControllerRow
from kraftcheck.reference.partition.reassignment.types import MovingPartition
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import UNDEFINED, UNKNOWN_REMOTE, Registration, Remote

T = TypeVar("T")


class MovingRules(PartitionRules):
    """The decisions, for one set of constants."""

    __slots__ = ()

    def is_of_deleted_topic(self, partition: MovingPartition) -> bool:
        """R13. Whether the topic is gone, and what a broker has of it with it."""
        return not partition.replicas

    def has_left(self, n: int, partition: MovingPartition) -> bool:
        """R6.

        Whether the topic is there, and a broker is no replica any more: it stops, and deletes its
        log.
        """
        return bool(partition.replicas) and n not in partition.replicas

    def remotes_under(self, row: MovingBrokerRow, partition: MovingPartition) -> tuple[Remote, ...]:
        """R6.

        What a leader goes on knowing of others: nothing of who is no replica
        (Partition.updateAssignmentAndIsr).
        """
        return tuple(
            [
                remote if b in partition.replicas else UNKNOWN_REMOTE
                for b, remote in zip(self.brokers, row.remotes, strict=True)
            ]
        )

    def fetch_error_under_list(self, row: Any, m: ReplicaFetchRequest) -> str:
        """P4, R6.

        Who is no replica, as far as the leader knows, may be one by what it knows itself, and asks
        again (Partition.followerReplicaOrThrow).
        """
        if row.role == "None":
            return "NOT_LEADER_OR_FOLLOWER"
        error = super().fetch_epoch_error(row, m)
        if error == "NONE" and m.source not in row.replicas:
            return "UNKNOWN_LEADER_EPOCH"
        return error

    fetch_epoch_error = fetch_error_under_list

    def deletion_awaits_under_list(self, row: Any, r: int) -> bool:
        """S9, R6. Nobody waits for a broker that is no replica."""
        return r in row.replicas and super().deletion_awaits(row, r)

    deletion_awaits = deletion_awaits_under_list

    def leader_error_under_list(self, partition: Any, m: AlterPartitionRequest) -> str:
        """C12, R12. Before all else: the topic is there."""
        if not partition.replicas:
            return "UNKNOWN_TOPIC_ID"
        return super().leader_epoch_error(partition, m)

    leader_epoch_error = leader_error_under_list

    def alter_error_under_list(self, partition: Any, m: AlterPartitionRequest) -> str:
        """C12. Behind the compare-and-set: whoever is proposed is a replica."""
        error = super().partition_epoch_error(partition, m)
        if error == "NONE" and any(each.broker not in partition.replicas for each in m.isr):
            return "INVALID_REQUEST"
        return error

    partition_epoch_error = alter_error_under_list

    def unclean_under_list(self, registration: Registration, m: RegisterBrokerRequest) -> bool:
        """C3, R15. Of a broker that is not registered nothing is known: it comes without proof."""
        return registration.epoch == UNDEFINED or super().is_unclean_restart(registration, m)

    is_unclean_restart = unclean_under_list

    def leads_elsewhere(self, row: MovingControllerRow, b: int) -> bool:
        """R14.

        Whether a broker that wants to stop is to wait for other partitions, as if it led this one.
        """
        return b in row.held

    def read_from(self, stable: T, ahead: T) -> T:
        """V29.

        What a controller reads to whoever asks: what it knows to be committed, whatever it has
        written besides. Whether it is active is asked by nobody (QuorumController.appendReadEvent,
        lastStableOffset).
        """
        return stable
