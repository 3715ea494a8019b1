"""What a coordinator and members that commit offsets receive, beside what groups do.

Law of this file: values only. A request is handled in the step that sends it, or never, and an
answer is heard in the step that tells it, or never: a client waits for one answer on one
connection, and asks again if none comes.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.groups import messages as groups
from kraftcheck.reference.kit.fields import SetOf

CommitError: TypeAlias = Literal["NONE", "UNKNOWN_MEMBER_ID", "STALE_MEMBER_EPOCH"]


class OffsetFetch(groups.Message, frozen=True):
    """G28. What is committed of the partition?"""

    epoch: int
    offset: int
    """Says nothing."""


class OffsetCommit(groups.Message, frozen=True):
    """G29."""

    epoch: int
    offset: int


class OffsetFetchResponse(groups.Message, frozen=True):
    """G33."""

    error: CommitError
    epoch: int
    """In which it was asked."""
    offset: int


class OffsetCommitResponse(groups.Message, frozen=True, order=True):
    """G30. epoch, offset: as they were asked for."""

    error: CommitError
    epoch: int
    offset: int


# --- The coordinator's log


class CommitsRecord(groups.GroupRecord, frozen=True, order=True):
    """A group after an operation."""

    offset: int = 0
    """The committed one of the partition."""
    since: int = 0
    """The epoch in which its owner was assigned it; 0: no owner."""


class CommitsTail(groups.GroupTail, frozen=True, order=True):
    records: tuple[CommitsRecord, ...]


class MoveCoordinator(groups.MoveCoordinator, frozen=True):
    """As of groups."""

    tail: CommitsTail


# --- What comes to a member by itself


class AskOffset(groups.Input, frozen=True):
    """It may fetch the partition, and does not know from where on."""


class RequestCommit(groups.Input, frozen=True):
    """The application was handed out what is before the offset, and asks for a commit."""

    offset: int


class CommitOffsets(groups.Input, frozen=True):
    """What was asked for goes out."""


class CommitTimeout(groups.Input, frozen=True):
    """No answer came, or the connection was closed."""


class AskedCommit(msgspec.Struct, frozen=True, order=True):
    """What the application has asked for, in an epoch of its consumer."""

    offset: int
    epoch: int
    sent: bool
    """It is in flight."""


Answer: TypeAlias = groups.GroupHeartbeatResponse | OffsetCommitResponse
Waiting: TypeAlias = SetOf[Answer]

MESSAGES: Final = (
    *groups.MESSAGES,
    *(OffsetFetch, OffsetCommit, OffsetFetchResponse, OffsetCommitResponse),
)
COORDINATOR_INPUTS: Final = (
    *[each for each in groups.COORDINATOR_INPUTS if each is not groups.MoveCoordinator],
    *(MoveCoordinator, OffsetFetch, OffsetCommit),
)
MEMBER_INPUTS: Final = (
    *groups.MEMBER_INPUTS,
    *(AskOffset, OffsetFetchResponse, RequestCommit, CommitOffsets, CommitTimeout),
    OffsetCommitResponse,
)
