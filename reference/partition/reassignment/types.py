"""The state of the controller where replicas change: brokers, and the partitions of a topic.

Law of this file: values only. `TopicRow` is the row of
specs/partition/reassignment/Reassignments.tla, the same fields in the same order in snake case.
What `reference/partition/types.py` says of values holds here.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, ByNode, Node, SetOf
from kraftcheck.reference.partition.messages import CONTROLLER, NOBODY, Partition
from kraftcheck.reference.partition.types import PartitionConstants

__all__ = [
    "CONTROLLER",
    "GONE",
    "NOBODY",
    "UNASSIGNED",
    "BrokerRegistration",
    "Constants",
    "LeaderNotes",
    "MovingPartition",
    "State",
    "Target",
    "TopicRow",
    "Why",
    "min_isr_of",
    "partition_constants",
]

UNASSIGNED: Final = 0
"""No directory is known of the replica, or the broker has none."""

State: TypeAlias = Literal["Unregistered", "Fenced", "Active", "Stopping"]
Why: TypeAlias = str
"""Kafka's error, or none: empty."""


class Constants(msgspec.Struct, frozen=True, tag="reassignment", tag_field="protocol"):
    """The constants of specs/partition/reassignment/ReassignmentRules.tla."""

    brokers: SetOf[Node]
    """All of the cluster."""
    first_replicas: tuple[Node, ...]
    """Of the first partition, in assignment order."""
    directories: SetOf[AtLeastOne] = (1,)
    """Of each broker."""
    min_insync_replicas: AtLeastOne = 2
    """min.insync.replicas of a new topic."""
    elr_enabled: bool = True
    """eligible.leader.replicas.version = 1 (KIP-966)."""
    unclean_election: bool = False
    """unclean.leader.election.enable."""
    second_rack: SetOf[Node] = ()
    """The brokers in another rack than the others; empty: none has a rack."""
    leader_notes: bool = False
    """What a leader knows of fetches decides who joins the ISR; without it, who has copied the log
    comes with the input.
    """

    def __post_init__(self) -> None:
        assert self.first_replicas, "a partition has replicas"
        assert self.directories, "a broker has a directory"
        for named in (self.brokers, self.directories, self.second_rack):
            assert list(named) == sorted(set(named)), "brokers and directories are sorted, once"
        assert set(self.second_rack) <= set(self.brokers), "who is in a rack is a broker"
        assert len(set(self.first_replicas)) == len(self.first_replicas), "a replica is listed once"
        assert set(self.first_replicas) <= set(self.brokers), "who replicates is a broker"
        assert min(self.brokers) >= 0, "-1 is nobody, and below are those that are no brokers"


class BrokerRegistration(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the controller knows of a broker."""

    state: State
    directories: SetOf[int]
    """Those that are online, sorted."""


GONE: Final = BrokerRegistration("Unregistered", ())


class MovingPartition(Partition, frozen=True, gc=False, array_like=True, cache_hash=True):
    """A partition, and the lists that say who replicates it."""

    replicas: tuple[Node, ...]
    """In assignment order, those that are removed last."""
    adding: SetOf[Node]
    removing: SetOf[Node]
    directories: ByNode[int]
    """Of each replica; 0 of all others."""


class Target(msgspec.Struct, frozen=True, gc=False):
    """The replicas that were last asked for, and accepted; no rule asks for them."""

    replicas: tuple[Node, ...]


class LeaderNotes(msgspec.Struct, frozen=True, gc=False):
    """P9. What the broker that leads a partition knows."""

    broker: Node
    leader_epoch: int
    """Of the metadata that it has applied."""
    partition_epoch: int
    """Likewise."""
    end_offset: int
    """Where its log ends."""
    ends: ByNode[int]
    """Where fetches ended; -1: nothing is known."""


class TopicRow(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The whole state of the controller, as far as one topic is concerned.

    The hash is kept, because steps are memoised by row.
    """

    registrations: ByNode[BrokerRegistration]
    topic_id: int
    """0 when there is no topic."""
    topics_made: int
    """So many ids were given."""
    partitions: tuple[MovingPartition, ...]
    targets: tuple[Target, ...]
    """By partition."""
    leaders: tuple[LeaderNotes, ...] = ()
    """By partition, with leader_notes."""
    min_isr: int = 0
    """min.insync.replicas as it was set last; 0: as in the constants (R24)."""


def min_isr_of(constants: Constants, row: TopicRow) -> int:
    """min.insync.replicas in force."""
    return row.min_isr or constants.min_insync_replicas


def partition_constants(constants: Constants, replicas: tuple[int, ...]) -> PartitionConstants:
    """The partition that has this list of replicas."""
    return PartitionConstants(
        replicas,
        constants.min_insync_replicas,
        constants.elr_enabled,
        constants.unclean_election,
        1,
    )
