"""The rows of a group, and what they begin as: values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.groups.messages import (
    ALL_FIELDS,
    JOIN_EPOCH,
    OWN,
    UNKNOWN,
    Given,
    GroupHeartbeatResponse,
    GroupProtocol,
    GroupRecord,
    GroupState,
    GroupTail,
    LeaderChange,
    MemberRecord,
    MigrationPolicy,
    TransactionMarker,
)
from kraftcheck.reference.kit.fields import AtLeastOne, ByNode, Node, Rank, SetOf

ClientState: TypeAlias = Literal[
    "Unsubscribed", "Joining", "Reconciling", "Acknowledging", "Stable", "Fatal"
]


class Constants(
    msgspec.Struct, frozen=True, omit_defaults=True, tag="groups", tag_field="protocol"
):
    members: SetOf[int]
    """Their nodes, all above 0."""
    partitions: SetOf[int]
    """Of the topics that they subscribe to."""
    max_coordinators: AtLeastOne
    """How many leader epochs the log may have."""
    max_correlation: AtLeastOne
    """After it, numbers of heartbeats begin with 1 again."""
    static: SetOf[SetOf[Node]] = ()
    """The instance ids, of each the members that have it; the first members come first."""
    growing: SetOf[int] = ()
    """The partitions that come and go."""

    def __post_init__(self) -> None:
        of = [n for each in self.static for n in each]
        assert {*of} <= {*self.members} and {*self.growing} <= {*self.partitions}, (
            "static are members, growing partitions"
        )
        assert len({*of}) == len(of), "a member has one instance id"
        numbers = all(list(each) == sorted({*each}) for each in (*self.static, self.growing))
        assert numbers and list(self.static) == sorted(self.static), "sets are sorted"


class OffsetsLog(msgspec.Struct, frozen=True):
    """The group's partition of __consumer_offsets (specs/common/GroupLog.tla)."""

    committed: GroupRecord
    leader: tuple[GroupRecord, ...]
    """What its log has after the committed record."""
    tails: SetOf[GroupTail]
    """What the log of any replica that may lead has; sorted."""


class GroupCoordinator(msgspec.Struct, frozen=True):
    """The coordinator (specs/groups/GroupHandlers.tla)."""

    leader_epoch: int
    """Of its partition."""
    log: OffsetsLog
    waiting: SetOf[GroupHeartbeatResponse]
    """Answers; sorted."""


class GroupMember(msgspec.Struct, frozen=True):
    """A consumer (specs/groups/MembershipClient.tla)."""

    state: ClientState
    epoch: int
    subscribed: SetOf[int]
    owned: SetOf[int]
    current: SetOf[int]
    target: SetOf[int]
    reconciled: bool
    busy: bool
    reconciling: SetOf[int]
    outdated: bool
    unsent: SetOf[Given]
    awaiting: bool
    correlation: Rank


class GroupEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the group's log (specs/groups/GroupReplay.tla)."""

    offset: int
    kind: Literal["Member", "Current"]
    member: Node
    exists: bool
    """It is no tombstone."""
    epoch: int
    assigned: SetOf[int]
    away: bool = False
    """The member has left for a while, and keeps what it has (G19)."""


class ReadMember(msgspec.Struct, frozen=True):
    """What a broker has read of a member."""

    known: bool
    id: int
    """The epoch of the batch that gave it its id."""
    epoch: int
    assigned: SetOf[int]


class HeldPartition(msgspec.Struct, frozen=True, order=True):
    partition: int
    epoch: int


class GroupLoader(msgspec.Struct, frozen=True):
    """A broker with a replica of the group's partition (specs/groups/GroupReplay.tla)."""

    leads: bool
    leader_epoch: int
    events: SetOf[LeaderChange]
    epoch: int
    state: Literal["Inactive", "Loading", "Active", "Failed"]
    entries: tuple[GroupEntry, ...]
    end_offset: int
    position: int
    members: ByNode[ReadMember]
    held: SetOf[HeldPartition]


class CommittedOffset(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """What a group has committed of a partition."""

    partition: int
    offset: int
    time: int
    """Of the commit."""
    anew: bool = False
    """It belongs to the new topic, while the partition is `renewed`."""


class FetchPosition(msgspec.Struct, frozen=True, order=True):
    """Up to where a consumer has fetched, and has handed out of that."""

    partition: int
    fetched: int
    handed_out: int


class RequestedCommit(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """What the application asked to be committed, in an epoch of its consumer."""

    partition: int
    offset: int
    epoch: int
    sends: bool = False
    """The offset is to be sent in the transaction."""


class PendingOffset(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """What a transaction is to commit."""

    partition: int
    offset: int
    transaction: int
    producer: int = OWN
    overtaken: bool = False
    """An offset of the partition was committed after it."""


class GroupOffsets(msgspec.Struct, frozen=True, omit_defaults=True):
    """The offsets of a group, and a consumer that commits them (specs/groups/GroupOffsets.tla)."""

    committed: SetOf[CommittedOffset]
    group: GroupState
    since: int
    now: int
    taken: SetOf[int]
    positions: SetOf[FetchPosition]
    update: Literal["None", "Asked", "Heard"]
    asked: SetOf[int]
    epoch: int
    requested: SetOf[RequestedCommit]
    revoking: SetOf[int]
    transaction: int
    open: bool
    pending: SetOf[PendingOffset]
    markers: SetOf[TransactionMarker]
    deleted: SetOf[int] = ()
    """The partitions whose topic was deleted, and made anew with its name."""
    renewed: SetOf[int] = ()
    """Those whose topic was, and the coordinator has not heard of it yet."""


class MigratedMember(msgspec.Struct, frozen=True):
    """What is recorded of a member (specs/groups/GroupMigration.tla)."""

    protocol: Literal["None", "Classic", "Consumer"]
    epoch: int
    target: SetOf[int]
    assigned: SetOf[int]
    pending: SetOf[int]
    owned: SetOf[int]
    """What it said it had when it joined last, as a classic one."""
    left: bool
    """It is none any more, which is not recorded."""


class MigratingClient(msgspec.Struct, frozen=True):
    """A consumer of either protocol."""

    protocol: Literal["None", "Classic", "Consumer"]
    cooperative: bool
    """It keeps what it has while it joins. One that has Joined waits for all to have joined."""
    state: Literal["Closed", "Joining", "Joined", "Syncing", "Stable"]
    epoch: int
    """Or generation, that it knows."""
    owned: SetOf[int]


class GroupMigration(msgspec.Struct, frozen=True):
    """A group with members of both protocols (specs/groups/GroupMigration.tla)."""

    type: GroupProtocol
    policy: MigrationPolicy
    epoch: int
    target_epoch: int
    members: ByNode[MigratedMember]
    rebalancing: bool
    joined: SetOf[Node]
    clients: ByNode[MigratingClient]
    told: SetOf[Node]


INITIAL_OFFSETS: Final = GroupOffsets(
    *((), "Empty", 0, 0, (), (), "None", (), 1, (), ()), 0, False, (), ()
)
NO_MEMBER: Final = MemberRecord("None", 0, UNKNOWN, (), (), (), ())
INITIAL_MEMBER: Final = GroupMember(
    state="Unsubscribed",
    epoch=JOIN_EPOCH,
    subscribed=(),
    owned=(),
    current=(),
    target=(),
    reconciled=True,
    busy=False,
    reconciling=(),
    outdated=False,
    unsent=ALL_FIELDS,
    awaiting=False,
    correlation=0,
)


NO_ENTRIES: Final = ReadMember(known=False, id=0, epoch=0, assigned=())


NOT_RECORDED: Final = MigratedMember("None", 0, (), (), (), (), left=False)
NO_CONSUMER: Final = MigratingClient("None", cooperative=False, state="Closed", epoch=0, owned=())


def initial_migration(constants: Constants) -> GroupMigration:
    count = len(constants.members)
    members, clients = (NOT_RECORDED,) * count, (NO_CONSUMER,) * count
    return GroupMigration(
        "Classic",
        "Bidirectional",
        0,
        0,
        members,
        rebalancing=False,
        joined=(),
        clients=clients,
        told=(),
    )


def initial_loader(constants: Constants) -> GroupLoader:
    members = (NO_ENTRIES,) * len(constants.members)
    return GroupLoader(False, 0, (), 0, "Inactive", (), 0, 0, members, ())


def initial_group(constants: Constants) -> GroupRecord:
    return GroupRecord(1, 1, (NO_MEMBER,) * len(constants.members), ())
