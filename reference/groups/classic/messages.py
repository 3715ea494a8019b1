"""What a group of the classic protocol and its members receive: messages, and all other inputs.

Law of this file: values only. A request is handled in the step that sends it, or never; an answer
travels, may be lost, doubled and late: its member knows by its number whether it waits for it.

Sets are sorted tuples. Every value is immutable and hashable, equal by content.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address, ByNode, Node, NodeOrNobody, Rank, SetOf

COORDINATOR: Final = 0
"""The coordinator of the group, whoever it is."""
NO_GENERATION: Final = -1
"""Of who is no member."""

Error: TypeAlias = Literal[
    "NONE", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"
]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


class JoinGroup(Message, frozen=True):
    """A request to join (G38)."""

    correlation: Rank
    has_id: bool
    """The member has an id."""
    owned: SetOf[int]
    """The partitions that it owns, since the generation claimed."""
    claimed: int


class Claim(msgspec.Struct, frozen=True, order=True):
    """G44. What a member owns, and in which generation it was then."""

    member: Node
    owned: SetOf[int]
    generation: int


class JoinGroupResponse(Message, frozen=True, order=True):
    """G38."""

    correlation: Rank
    error: Error
    generation: int
    claims: SetOf[Claim]
    """Of all members, for the one that leads."""


class MemberAssignment(msgspec.Struct, frozen=True, order=True):
    member: Node
    partitions: SetOf[int]


class SyncGroup(Message, frozen=True):
    """G39."""

    correlation: Rank
    generation: int
    assignments: SetOf[MemberAssignment]
    """Of all members, from the one that leads."""


class SyncGroupResponse(Message, frozen=True, order=True):
    correlation: Rank
    error: Error
    assigned: SetOf[int]


class ClassicHeartbeat(Message, frozen=True):
    """G40."""

    correlation: Rank
    generation: int


class ClassicHeartbeatResponse(Message, frozen=True, order=True):
    correlation: Rank
    error: Error


class LeaveGroup(Message, frozen=True):
    """G41. Nobody waits for an answer."""


# --- The coordinator's log


class ClassicRecord(msgspec.Struct, frozen=True, order=True):
    """What a group knows of a member (specs/groups/classic/ClassicHandlers.tla)."""

    known: bool
    owned: SetOf[int]
    claimed: int
    assigned: SetOf[int]
    joined: bool
    syncing: bool
    correlation: Rank


class ClassicImage(msgspec.Struct, frozen=True, order=True):
    """A group as its log has it."""

    generation: int
    leader: NodeOrNobody
    members: ByNode[ClassicRecord]


class ClassicTail(msgspec.Struct, frozen=True, order=True):
    """What a replica's log has after the last committed record."""

    records: tuple[ClassicImage, ...]


# --- What comes to the coordinator by itself


class ClassicSessionTimeout(Input, frozen=True):
    member: Node


class ClassicRebalanceTimeout(Input, frozen=True):
    """G38, G39. The time to join, or to ask for an assignment, is over."""


class ClassicCommit(Input, frozen=True):
    """The high watermark reaches the end of the log."""


class MoveClassicCoordinator(Input, frozen=True):
    """G49. Another broker leads the log, and has loaded it."""

    tail: ClassicTail
    """What its log has."""


# --- What comes to a member by itself


class SubscribeClassic(Input, frozen=True):
    pass


class UnsubscribeClassic(Input, frozen=True):
    pass


class RequestRejoin(Input, frozen=True):
    """Of the topics there is something new."""


class SendJoinGroup(Input, frozen=True):
    """G38. The application polls."""


class SendClassicHeartbeat(Input, frozen=True):
    """The interval is over."""


class ClassicRequestTimeout(Input, frozen=True):
    """No answer came, or the connection was closed."""


MESSAGES: Final = (
    *(JoinGroup, JoinGroupResponse, SyncGroup, SyncGroupResponse),
    *(ClassicHeartbeat, ClassicHeartbeatResponse, LeaveGroup),
)
REQUESTS: Final = (JoinGroup, SyncGroup, ClassicHeartbeat, LeaveGroup)
COORDINATOR_INPUTS: Final = (
    *(JoinGroup, SyncGroup, ClassicHeartbeat, LeaveGroup, ClassicSessionTimeout),
    *(ClassicRebalanceTimeout, ClassicCommit, MoveClassicCoordinator),
)
MEMBER_INPUTS: Final = (
    *(SubscribeClassic, UnsubscribeClassic, RequestRejoin, SendJoinGroup, JoinGroupResponse),
    *(SyncGroupResponse, SendClassicHeartbeat, ClassicHeartbeatResponse, ClassicRequestTimeout),
)
