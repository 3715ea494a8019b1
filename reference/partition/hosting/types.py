"""The state of a broker that hosts a replica, and the metadata that it follows.

Law of this file: values only. `HostRow` is the row of specs/partition/hosting/Hosting.tla, the same
fields in the same order in snake case.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, Node, SetOf
from kraftcheck.reference.kit.log import UNDEFINED

UNASSIGNED: Final = 0
"""No directory is known of the replica, or there is none."""

State: TypeAlias = Literal["None", "Online", "Offline"]


class Constants(msgspec.Struct, frozen=True, tag="hosting", tag_field="protocol"):
    """The constants of specs/partition/hosting/HostingRules.tla."""

    brokers: SetOf[Node]
    """They have nothing to do with one another; one partition's replica may be at each."""
    directories: SetOf[AtLeastOne] = (1, 2)
    """Of each broker."""
    sole: bool = False
    """Whether the partition has no other replica. Then the ISR keeps this one over a start (C10),
    and no directory fails.
    """

    def __post_init__(self) -> None:
        assert self.brokers and self.directories, "there is a broker, and it has a directory"
        for named in (self.brokers, self.directories):
            assert list(named) == sorted(set(named)), "brokers and directories are sorted, once"
        assert min(self.brokers) >= 0, "-1 is nobody"


class Image(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """What the metadata say of the partition and this broker."""

    topic_id: int
    """0 when there is no topic."""
    assigned: bool
    """Whether the broker is one of the replicas."""
    directory: int
    """In which the controller believes the replica."""
    leads: bool
    in_isr: bool
    leader_epoch: int
    partition_epoch: int


class Log(msgspec.Struct, frozen=True, gc=False, array_like=True, order=True):
    """A log of the partition on disk; a directory has one at most."""

    directory: int
    topic_id: int
    complete: bool
    """Whether it has all that was acknowledged."""


class Replica(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """What the broker hosts (Kafka's `HostedPartition`)."""

    state: State
    topic_id: int
    directory: int
    leads: bool
    leader_epoch: int
    partition_epoch: int
    pending: bool
    """Leader: whether a proposal is on its way (AlterPartition)."""


NO_IMAGE: Final = Image(0, False, UNASSIGNED, False, False, 0, 0)
NO_REPLICA: Final = Replica("None", 0, UNASSIGNED, False, 0, 0, False)


class HostRow(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The whole state of a broker, and of the metadata as far as it is concerned.

    The hash is kept, because steps are memoised by row.
    """

    image: Image
    """Of the metadata log, all of which is committed."""
    topics_made: int
    """So many ids were given."""
    acknowledged: bool
    """Whether the topic has records that were acknowledged."""
    running: bool
    published: bool
    """Whether the process has been given an image (V26)."""
    applied: Image
    """Volatile: the last one."""
    replica: Replica
    """Volatile."""
    online: SetOf[int]
    """Directories that have not failed."""
    reported: SetOf[int]
    """Failed ones that the controller has heard of."""
    logs: SetOf[Log]
    """Durable."""
    future: int
    """Durable: the directory of the future log, to which the replica moves, or 0 (R21)."""
    future_caught_up: bool
    """Durable: whether the future log ends where the replica's log ends."""
    future_assigned: bool
    """Volatile: whether the broker has told the controller that the replica is there."""
    aborted: int
    """The partition epoch at which a metadata transaction was aborted that moves the replica, and
    that is yet to be read; or -1 (V28).
    """


def initial_host_row(constants: Constants) -> HostRow:
    """The broker runs and has nothing."""
    return HostRow(
        image=NO_IMAGE,
        topics_made=0,
        acknowledged=False,
        running=True,
        published=True,
        applied=NO_IMAGE,
        replica=NO_REPLICA,
        online=constants.directories,
        reported=(),
        logs=(),
        future=UNASSIGNED,
        future_caught_up=False,
        future_assigned=False,
        aborted=UNDEFINED,
    )
