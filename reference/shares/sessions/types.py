"""The rows of share sessions, and what they begin as: values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import NOBODY, AtLeastOne, ByNode, NodeOrNobody, SetOf
from kraftcheck.reference.shares.sessions.messages import Delivery

RecordState: TypeAlias = Literal["Available", "Acquired", "Done"]
SessionRequest: TypeAlias = Literal["None", "Fetch", "Acknowledge", "Close"]


class Constants(msgspec.Struct, frozen=True, tag="sessions", tag_field="protocol"):
    """What a run is made of."""

    members: SetOf[int]
    """The consumers' nodes, all above 0."""
    records: AtLeastOne
    """The number of offsets; the first is 1."""
    max_connections: AtLeastOne
    """The last connection of each consumer."""

    @property
    def offsets(self) -> range:
        return range(1, self.records + 1)


class ShareSession(msgspec.Struct, frozen=True):
    """A member's session on the broker."""

    epoch: int
    """Of the next request; 0: there is no session."""
    connection: int
    """On which it began; 0: there is no session."""


class SharedRecord(msgspec.Struct, frozen=True):
    """What the broker knows of an offset."""

    state: RecordState
    member: NodeOrNobody
    """The holder."""
    count: int
    """Of deliveries."""


NO_SESSION: Final = ShareSession(0, 0)
UNDELIVERED: Final = SharedRecord("Available", NOBODY, 0)


class SessionBroker(msgspec.Struct, frozen=True):
    """The broker (specs/shares/sessions/SessionHandlers.tla)."""

    sessions: ByNode[ShareSession]
    """Of each member."""
    closed: ByNode[int]
    """The last connection of each member whose end the broker has seen."""
    cells: tuple[SharedRecord, ...]
    restarts: int
    """How often the broker has started again."""


class SessionClient(msgspec.Struct, frozen=True):
    """A consumer (specs/shares/sessions/SessionHandlers.tla)."""

    connection: int
    """Its number; the first is 1."""
    epoch: int
    """Of the next request; 0 begins a session."""
    request: SessionRequest
    """What is under way: one request at a time."""
    held: SetOf[Delivery]
    acks: SetOf[Delivery]
    """Acknowledged by the application, and not sent."""
    sent: SetOf[Delivery]
    """Acknowledged by the request under way."""
    done: SetOf[Delivery]
    """The application was told that the acknowledgement succeeded."""
    failed: SetOf[Delivery]
    """It was told an error: the outcome is unknown."""
    closed: bool
    """Whether the application has closed it."""


INITIAL_CLIENT: Final = SessionClient(1, 0, "None", (), (), (), (), (), False)


def initial_broker(constants: Constants) -> SessionBroker:
    """Nobody has a session."""
    each = len(constants.members)
    cells = (UNDELIVERED,) * constants.records
    return SessionBroker((NO_SESSION,) * each, (0,) * each, cells, 0)
