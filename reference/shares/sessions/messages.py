"""What a broker with share sessions and its consumers receive.

Law of this file: values only. A connection delivers its requests and responses once, in their
order. A broker may handle a request after it has seen that its connection is closed. Sets are
sorted tuples.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address, SetOf

BROKER: Final = 0
FINAL_EPOCH: Final = -1
"""The epoch of the last request of a session."""

SessionError: TypeAlias = Literal[
    "NONE", "INVALID_REQUEST", "SHARE_SESSION_NOT_FOUND", "INVALID_SHARE_SESSION_EPOCH"
]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class SessionMessage(Input, frozen=True):
    source: Address
    destination: Address
    connection: int
    """Of the consumer: its first is 1. Kafka's requests do not have it; its broker knows from
    which connection a request came."""


class Delivery(msgspec.Struct, frozen=True, order=True):
    """A record in a consumer's hands."""

    offset: int
    count: int
    """Of its deliveries, this one included."""


# --- Between consumers and the broker


class SessionFetch(SessionMessage, frozen=True):
    """ShareFetch (SH29, SH31)."""

    epoch: int
    offsets: SetOf[int]
    """The acknowledged ones."""


class SessionFetchResponse(SessionMessage, frozen=True):
    epoch: int
    """Of the request, by which a consumer knows what is answered (Kafka: the correlation id)."""
    error: SessionError
    refused: SetOf[int]
    """The acknowledged offsets that the member does not hold (INVALID_RECORD_STATE)."""
    records: SetOf[Delivery]


class SessionAcknowledge(SessionMessage, frozen=True):
    """ShareAcknowledge (SH29)."""

    epoch: int
    offsets: SetOf[int]


class SessionAcknowledgeResponse(SessionMessage, frozen=True):
    epoch: int
    error: SessionError
    refused: SetOf[int]
    """The acknowledged offsets that the member does not hold (INVALID_RECORD_STATE)."""


class ConnectionClosed(SessionMessage, frozen=True):
    """A connection's end, as the broker sees it (SH30)."""


# --- What comes to nodes by themselves


class AcquisitionLockTimeout(Input, frozen=True):
    """The acquisition lock of an offset runs out (SH22)."""

    offset: int


class SessionsLost(Input, frozen=True):
    """The broker restarts: its sessions and locks are gone. Consumers have not noticed yet."""


class PollSession(Input, frozen=True):
    """The application polls."""


class AcknowledgeDelivery(Input, frozen=True):
    """The application acknowledges a record that it holds."""

    offset: int


class CommitSession(Input, frozen=True):
    """The application commits what it has acknowledged (SH52)."""


class CloseSession(Input, frozen=True):
    """The application closes the consumer (SH55)."""


class ConnectionLost(Input, frozen=True):
    """The connection breaks, or a request times out; the consumer makes another connection."""


MESSAGES: Final = (
    *(SessionFetch, SessionFetchResponse, SessionAcknowledge, SessionAcknowledgeResponse),
    ConnectionClosed,
)
BROKER_INPUTS: Final = (
    *(SessionFetch, SessionAcknowledge, ConnectionClosed),
    *(AcquisitionLockTimeout, SessionsLost),
)
CLIENT_INPUTS: Final = (
    *(PollSession, SessionFetchResponse, AcknowledgeDelivery, CommitSession),
    *(SessionAcknowledgeResponse, CloseSession, ConnectionLost),
)
