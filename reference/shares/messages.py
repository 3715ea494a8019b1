"""What a share partition's leader, the share coordinator and consumers receive.

Law of this file: values only. A consumer's request is handled in the step that sends it, or never;
requests of the persister and their answers travel, and may be lost, doubled and late. Sets are
sorted tuples.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address, Node, SetOf

COORDINATOR: Final = 0
LEADER: Final = -2
"""The share coordinator, and the leader of the share partition, whichever broker it is."""
NO_START: Final = 0
"""No start offset is stored: offsets begin with 1."""

CellState: TypeAlias = Literal["None", "Available", "Acquired", "Acknowledged", "Archived"]
AckKind: TypeAlias = Literal["ACCEPT", "RELEASE", "REJECT"]
StateError: TypeAlias = Literal["NONE", "FENCED_LEADER_EPOCH", "FENCED_STATE_EPOCH"]
AckError: TypeAlias = Literal[
    "NONE",
    "INVALID_RECORD_STATE",
    "INVALID_REQUEST",
    "NOT_LEADER_OR_FOLLOWER",
    "COORDINATOR_NOT_AVAILABLE",
    "UNKNOWN_SERVER_ERROR",
]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


# --- Between consumers and the leader


class ShareFetch(Message, frozen=True):
    """A consumer requests records (SH5)."""


class DeliveredRecord(msgspec.Struct, frozen=True, order=True):
    """A record in a consumer's hands."""

    offset: int
    count: int
    leader_epoch: int
    incarnation: int
    """That handed it out. Kafka's answer does not have it; properties need it."""


class ShareFetchResponse(Message, frozen=True):
    leader_epoch: int
    records: SetOf[DeliveredRecord]


class ShareAcknowledge(Message, frozen=True):
    """Of the offsets from first to last (SH17)."""

    first: int
    last: int
    kind: AckKind


class ShareAcknowledgeResponse(Message, frozen=True):
    """first, last, kind: as requested."""

    error: AckError
    first: int
    last: int
    kind: AckKind


# --- Between the leader's persister and the share coordinator


class ReadShareGroupState(Message, frozen=True):
    leader_epoch: int
    incarnation: int
    """Kafka's request does not have it (docs/reference/shares.md)."""


class StoredCell(msgspec.Struct, frozen=True, order=True):
    """What is stored of an offset."""

    state: CellState
    count: int


class ReadShareGroupStateResponse(Message, frozen=True, order=True):
    error: StateError
    incarnation: int
    state_epoch: int
    start: int
    cells: tuple[StoredCell, ...]


class WrittenCell(msgspec.Struct, frozen=True, order=True):
    """A cell that has changed."""

    offset: int
    state: CellState
    count: int


class WriteShareGroupState(Message, frozen=True, order=True):
    """SH26."""

    leader_epoch: int
    incarnation: int
    state_epoch: int
    start: int
    cells: SetOf[WrittenCell]


class WriteShareGroupStateResponse(Message, frozen=True, order=True):
    error: StateError
    write: WriteShareGroupState
    """The request, by which the persister knows which write is answered."""


Answer: TypeAlias = ReadShareGroupStateResponse | WriteShareGroupStateResponse

# --- The coordinator's log


class StoredState(msgspec.Struct, frozen=True, order=True):
    """The state of the share partition as the log has it."""

    start: int
    state_epoch: int
    leader_epoch: int
    incarnation: int
    cells: tuple[StoredCell, ...]
    """Of each offset."""


class StoredTail(msgspec.Struct, frozen=True, order=True):
    records: tuple[StoredState, ...]


class StateCommit(Input, frozen=True):
    """All that the coordinator has appended is committed."""


class MoveShareCoordinator(Input, frozen=True):
    """Another broker becomes the coordinator, with this tail (SH44)."""

    tail: StoredTail


# --- What comes to the leader by itself


class LockTimeout(Input, frozen=True):
    """The acquisition lock of an offset runs out (SH22)."""

    offset: int


class SessionEnd(Input, frozen=True):
    """The connection of a member is closed (SH24)."""

    member: Node


class RetryPersister(Input, frozen=True):
    """What has no answer is sent again (SH32)."""


class GiveUpWrite(Input, frozen=True):
    """The persister makes no more attempts (SH32)."""

    write: WriteShareGroupState


class MoveLeader(Input, frozen=True):
    """The partition has another leader, in the next epoch."""


class Recreate(Input, frozen=True):
    """The broker drops the share partition, and makes it anew in its epoch (SH1)."""


class ProduceBatch(Input, frozen=True):
    """The high watermark passes another batch."""


class MoveLogStart(Input, frozen=True):
    """The log begins with this offset from now on: retention, or deleted records."""

    to: int


# --- What comes to a consumer by itself


class PollRecords(Input, frozen=True):
    """The application polls."""


class AcknowledgeRecords(Input, frozen=True):
    """The application acknowledges records that it holds (SH51)."""

    first: int
    last: int
    kind: AckKind


class AcknowledgeTimeout(Input, frozen=True):
    """No answer came in time (SH53)."""


class ForgetRecord(Input, frozen=True):
    """The application does nothing with a record."""

    offset: int


MESSAGES: Final = (
    *(ShareFetch, ShareFetchResponse, ShareAcknowledge, ShareAcknowledgeResponse),
    *(ReadShareGroupState, ReadShareGroupStateResponse),
    *(WriteShareGroupState, WriteShareGroupStateResponse),
)
LEADER_INPUTS: Final = (
    *(ShareFetch, ShareAcknowledge),
    *(ReadShareGroupStateResponse, WriteShareGroupStateResponse),
    *(LockTimeout, SessionEnd, RetryPersister, GiveUpWrite),
    *(MoveLeader, Recreate, ProduceBatch, MoveLogStart),
)
COORDINATOR_INPUTS: Final = (
    *(ReadShareGroupState, WriteShareGroupState),
    *(StateCommit, MoveShareCoordinator),
)
CONSUMER_INPUTS: Final = (
    *(PollRecords, ShareFetchResponse, AcknowledgeRecords, ShareAcknowledgeResponse),
    *(AcknowledgeTimeout, ForgetRecord),
)
