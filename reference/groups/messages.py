"""What the coordinator of a group and its members receive: messages, and all other inputs.

Law of this file: values only. A heartbeat is handled in the step that sends it, or never; an answer
travels, may be lost, doubled and late: its member knows by its number whether it waits for it.

Sets are sorted tuples. Every value is immutable and hashable, equal by content.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address, ByNode, Node, Rank, SetOf

COORDINATOR: Final = 0
LOADER: Final = -2
OFFSETS: Final = -3
MIGRATION: Final = -4
"""The coordinator of the group, whoever it is; a broker with a replica of its log; its offsets, and
who commits them; a group with members of both protocols."""
JOIN_EPOCH, LEAVE_EPOCH, UNKNOWN, RELEASED_EPOCH = 0, -1, -1, -2
"""Of a heartbeat that joins, and of one that leaves; no previous epoch; of a static member that has
left for a while."""

OWN, OF_OTHERS = 1, 2
"""Producers of transactions: the consumer's, and that of another member."""

Given: TypeAlias = Literal["Owned", "RebalanceTimeout", "Subscription"]
ALL_FIELDS: Final[tuple[Given, ...]] = ("Owned", "RebalanceTimeout", "Subscription")
"""What a heartbeat says only when it has changed, or when all is said; sorted."""

Error: TypeAlias = Literal[
    "NONE",
    "FENCED_MEMBER_EPOCH",
    "UNKNOWN_MEMBER_ID",
    "UNRELEASED_INSTANCE_ID",
    "FENCED_INSTANCE_ID",
]
MemberState: TypeAlias = Literal["None", "Stable", "Unrevoked", "Unreleased"]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


class GroupHeartbeat(Message, frozen=True):
    """G23."""

    correlation: Rank
    epoch: int
    given: SetOf[Given]
    """Of AllFields; subscribed and owned are empty where they are not given."""
    subscribed: SetOf[int]
    owned: SetOf[int]


class GroupHeartbeatResponse(Message, frozen=True, order=True):
    """G18."""

    correlation: Rank
    error: Error
    epoch: int
    tells: bool
    """Whether it has an assignment."""
    assigned: SetOf[int]


# --- What comes to the coordinator by itself


class MemberRecord(msgspec.Struct, frozen=True, order=True):
    """What a group knows of a member (specs/groups/GroupHandlers.tla)."""

    state: MemberState
    epoch: int
    previous_epoch: int
    subscribed: SetOf[int]
    target: SetOf[int]
    assigned: SetOf[int]
    pending: SetOf[int]


class GroupRecord(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """What a group is after an operation."""

    epoch: int
    target_epoch: int
    members: ByNode[MemberRecord]
    held: SetOf[int]
    """The partitions that have an owner."""
    grown: SetOf[int] = ()
    """Those of the growing ones that its metadata has."""
    gone: SetOf[int] = ()
    """Those that it had."""


class GroupTail(msgspec.Struct, frozen=True, order=True):
    """What a replica's log has after the last committed record."""

    records: tuple[GroupRecord, ...]


class GroupSessionTimeout(Input, frozen=True):
    """G20."""

    member: Node


class RebalanceTimeout(Input, frozen=True):
    """G20."""

    member: Node


class GrowTopic(Input, frozen=True):
    """G14. There is another partition, and the coordinator has heard of it."""

    partition: int


class DeleteTopic(Input, frozen=True):
    """G14. A topic is deleted, and the coordinator has heard of it."""

    partition: int


class GroupCommit(Input, frozen=True):
    """The high watermark reaches the end of the log."""


class MoveCoordinator(Input, frozen=True):
    """G6, G7. Another broker leads the log, and has loaded it."""

    tail: GroupTail
    """What its log has."""


# --- What comes to a member by itself


class Subscribe(Input, frozen=True):
    topics: SetOf[int]


class Unsubscribe(Input, frozen=True):
    pass


class SendGroupHeartbeat(Input, frozen=True):
    """The interval is over, or there is something to say."""


class HeartbeatTimeout(Input, frozen=True):
    """No answer came, or the connection was closed."""


class StartReconciliation(Input, frozen=True):
    """G24. What is given up is not fetched any more."""


class CompleteReconciliation(Input, frozen=True):
    """G24. The callbacks are through; what is taken may be fetched."""


# --- What comes to a broker with a replica of the group's partition


class LeaderChange(msgspec.Struct, frozen=True, order=True):
    """An election or a resignation of a broker's coordinator."""

    elected: bool
    epoch: int


class ChangeGroupLeader(Input, frozen=True):
    """Metadata says that it leads now, or does no more."""


class LeaderEvent(Input, frozen=True):
    """G6, G7. The coordinator hears of it."""

    event: LeaderChange


class GroupWrite(Input, frozen=True):
    """The leader writes, or what another one wrote is fetched."""

    member: Node
    assigned: SetOf[int]
    """What the member has then."""
    removed: bool
    """It is none any more."""


class ReplaceMember(Input, frozen=True):
    """G13. A static member is back with another id, which replaces the first."""

    member: Node


class RestateMember(Input, frozen=True):
    """G19. What a static member has is written anew, as it leaves for a while or is back."""

    member: Node


class CleanGroupLog(Input, frozen=True):
    """Of each key the last entry is kept."""


class ReadGroupLog(Input, frozen=True):
    """A load reads the next batch, or ends."""


# --- What comes to the offsets of a group, and to who commits them

GroupState: TypeAlias = Literal["Empty", "Rebalancing", "Stable", "Dead"]


class TakePartition(Input, frozen=True):
    partition: int


class StartRevocation(Input, frozen=True):
    """G24. It is committed, then callbacks run."""

    partition: int


class FinishRevocation(Input, frozen=True):
    partition: int


class AskOffsets(Input, frozen=True):
    """G28. An update of positions begins."""


class HearOffsets(Input, frozen=True):
    """What was committed."""


class ResetRest(Input, frozen=True):
    """Who has no offset begins with the first record."""


class FetchRecord(Input, frozen=True):
    partition: int


class HandOut(Input, frozen=True):
    """The application polls."""

    partition: int


class AutoCommit(Input, frozen=True):
    """G29. Of all positions."""


class ForgetTopic(Input, frozen=True):
    """G36.

    The partition's topic is deleted, and made anew with its name.
    """

    partition: int
    coordinated: bool
    """Somebody coordinates the group then; else what follows has the next one do once it has
    loaded.
    """


class SendTxnOffsets(Input, frozen=True):
    """G32. The application sends an offset as part of its transaction."""

    partition: int


class EndTransaction(Input, frozen=True, omit_defaults=True):
    """The transaction's marker is in the log."""

    commits: bool
    """Or it is aborted."""
    producer: int = OWN


class TransactionMarker(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    transaction: int
    """Which one it ends."""
    commits: bool
    """Or it aborts it."""
    producer: int = OWN


class MaterialiseMarker(Input, frozen=True):
    """G32. The coordinator does what a marker says."""

    marker: TransactionMarker


class AskCommit(Input, frozen=True):
    """G29. The application asks for it."""

    partition: int


class SendCommit(Input, frozen=True):
    """G30. What was asked for, and is answered."""


class FenceConsumer(Input, frozen=True):
    """G25. The consumer loses all, and is a member again."""


class OthersCommit(Input, frozen=True):
    """Another member goes on from there."""

    partition: int


class AskTxnOffsets(Input, frozen=True):
    """G32. The application asks to send an offset in its transaction, with its epoch of now."""

    partition: int


class OthersSend(Input, frozen=True):
    """G32. Another member sends an offset in a transaction of its own producer."""

    partition: int


class AlterOffset(Input, frozen=True):
    """G30. An administrator commits, while the group has no members."""

    partition: int


class DeleteGroup(Input, frozen=True):
    """G37. An administrator deletes the group."""


class RenewTopic(Input, frozen=True):
    """G36. The topic is deleted and made anew; the coordinator has not heard of it yet."""

    partition: int


class GroupChange(Input, frozen=True):
    group: GroupState


class TimePasses(Input, frozen=True):
    pass


class ExpireOffsets(Input, frozen=True):
    """G35."""


# --- What comes to a group with members of both protocols, and to these

GroupProtocol: TypeAlias = Literal["Classic", "Consumer"]
MigrationPolicy: TypeAlias = Literal["Bidirectional", "Upgrade"]


class StartConsumer(Input, frozen=True):
    member: Node
    protocol: GroupProtocol
    cooperative: bool
    """As a classic member it keeps what it has while it joins (KIP-429)."""


class CloseConsumer(Input, frozen=True):
    """It leaves."""

    member: Node


class LeaveForAWhile(Input, frozen=True):
    """G13, G19. A static member goes, and what it has is kept for it (epoch -2)."""

    member: Node


class KillConsumer(Input, frozen=True):
    """It goes without a word."""

    member: Node


class ExpireMember(Input, frozen=True):
    """G20."""

    member: Node


class RestartAsClassic(Input, frozen=True):
    """G13, G47. A static member of the consumer protocol is back, with the classic one."""

    member: Node


class ConsumerHeartbeat(Input, frozen=True):
    """G11 to G18, G40, G46. It is answered, and the consumer does what it is told."""

    member: Node


class RejoinClassic(Input, frozen=True):
    """G38, G46. JoinGroup."""

    member: Node


class SyncClassic(Input, frozen=True):
    """G39, G46. SyncGroup."""

    member: Node


class CompleteJoin(Input, frozen=True):
    """G38. All have joined."""


class MoveMigrated(Input, frozen=True):
    """G49. Another broker coordinates the group."""

    policy: MigrationPolicy
    """group.consumer.migration.policy."""


MESSAGES: Final = (GroupHeartbeat, GroupHeartbeatResponse)
COORDINATOR_INPUTS: Final = (
    *(GroupHeartbeat, GroupSessionTimeout, RebalanceTimeout, GrowTopic, DeleteTopic),
    *(GroupCommit, MoveCoordinator),
)
MEMBER_INPUTS: Final = (
    *(Subscribe, Unsubscribe, SendGroupHeartbeat, HeartbeatTimeout, GroupHeartbeatResponse),
    *(StartReconciliation, CompleteReconciliation),
)
LOADER_INPUTS: Final = (
    *(ChangeGroupLeader, LeaderEvent, GroupWrite, ReplaceMember, RestateMember),
    *(CleanGroupLog, ReadGroupLog),
)
OFFSETS_INPUTS: Final = (
    *(TakePartition, StartRevocation, FinishRevocation, AskOffsets, HearOffsets, ResetRest),
    *(FetchRecord, HandOut, AutoCommit, AskCommit, SendCommit, FenceConsumer, OthersCommit),
    *(GroupChange, TimePasses, ExpireOffsets, SendTxnOffsets, EndTransaction, MaterialiseMarker),
    *(ForgetTopic, AskTxnOffsets, OthersSend, AlterOffset, DeleteGroup, RenewTopic),
)
MIGRATION_INPUTS: Final = (
    *(StartConsumer, CloseConsumer, LeaveForAWhile, KillConsumer, ExpireMember, RestartAsClassic),
    *(ConsumerHeartbeat, RejoinClassic, SyncClassic, CompleteJoin, MoveMigrated),
)
