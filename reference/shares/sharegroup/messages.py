"""What the group coordinator, the share coordinator and a share leader receive.

Law of this file: values only. Requests and their responses are lost, doubled and late. `intent`
numbers what the group wanted, and is no part of Kafka's requests: properties need it.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address

STORE: Final = 0
LEADER: Final = -2
GROUP: Final = -3
"""The share coordinator, the leader of the partition, and the group coordinator."""
NO_START: Final = 0
"""No start offset is stored: offsets begin with 1."""

StoreError: TypeAlias = Literal[
    "NONE", "FENCED_LEADER_EPOCH", "FENCED_STATE_EPOCH", "INVALID_REQUEST"
]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class StateMessage(Input, frozen=True):
    source: Address
    destination: Address


# --- Between the group coordinator and the share coordinator


class InitializeState(StateMessage, frozen=True):
    """InitializeShareGroupState (SH35)."""

    epoch: int
    """The state epoch, which is the group's epoch."""
    start: int
    intent: int
    """The number of the initialization. Kafka's message does not have it; properties need it."""


class InitializeStateResponse(StateMessage, frozen=True):
    error: StoreError
    epoch: int
    """Of the request, by which the group coordinator knows what is answered."""


class DeleteState(StateMessage, frozen=True):
    """DeleteShareGroupState (SH41). Kafka's request has no epoch."""

    epoch: int


class DeleteStateResponse(StateMessage, frozen=True):
    epoch: int


# --- Between the leader and the share coordinator


class ReadState(StateMessage, frozen=True):
    """ReadShareGroupState (SH40)."""

    leader_epoch: int


class ReadStateResponse(StateMessage, frozen=True):
    error: StoreError
    leader_epoch: int
    state_epoch: int
    start: int
    intent: int
    """The number of the initialization. Kafka's message does not have it; properties need it."""


class WriteState(StateMessage, frozen=True, order=True):
    """WriteShareGroupState, of a start offset alone (SH26)."""

    leader_epoch: int
    state_epoch: int
    start: int
    intent: int
    """The number of the initialization. Kafka's message does not have it; properties need it."""


class WriteStateResponse(StateMessage, frozen=True):
    error: StoreError
    write: WriteState
    """The request, by which the persister knows which write is answered."""


# --- What comes to nodes by themselves


class SubscribeTopic(Input, frozen=True):
    """A heartbeat finds the partition neither initialized nor initializing (SH46)."""


class AlterOffsets(Input, frozen=True):
    """An administrator sets the start offset of a group without members (SH48)."""

    start: int


class DeleteOffsets(Input, frozen=True):
    """An administrator deletes the group, or its offsets (SH49)."""


class RetryGroup(Input, frozen=True):
    """The retry interval is over without an answer (SH46)."""


class LoadState(Input, frozen=True):
    """The first fetch of a member (SH2)."""


class AcknowledgeNext(Input, frozen=True):
    """A member acknowledges the record at the start offset."""


class RetryState(Input, frozen=True):
    """What has no answer is sent again (SH32)."""


class MoveStateLeader(Input, frozen=True):
    """The partition has another leader, in the next epoch."""


class ProduceRecord(Input, frozen=True):
    """The high watermark passes another record."""


MESSAGES: Final = (
    *(InitializeState, InitializeStateResponse, DeleteState, DeleteStateResponse),
    *(ReadState, ReadStateResponse, WriteState, WriteStateResponse),
)
GROUP_INPUTS: Final = (
    *(SubscribeTopic, AlterOffsets, DeleteOffsets, RetryGroup),
    *(InitializeStateResponse, DeleteStateResponse),
)
STORE_INPUTS: Final = (InitializeState, DeleteState, ReadState, WriteState)
LEADER_INPUTS: Final = (
    *(LoadState, ReadStateResponse, AcknowledgeNext, WriteStateResponse),
    *(RetryState, MoveStateLeader, ProduceRecord),
)
