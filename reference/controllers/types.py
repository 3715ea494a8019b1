"""The rows of the metadata log, of controllers and of clients, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final

import msgspec

from kraftcheck.reference.controllers.messages import ControllerError
from kraftcheck.reference.kit.fields import NOBODY, AtLeastOne, Node, NodeOrNobody, SetOf


class Constants(msgspec.Struct, frozen=True, tag="controllers", tag_field="protocol"):
    """What a run is made of."""

    controllers: SetOf[Node]
    """The voters, each with a controller."""
    max_epochs: AtLeastOne
    """The last epoch of the quorum."""
    max_operations: AtLeastOne
    """Requests to each controller."""


class LogRecord(msgspec.Struct, frozen=True):
    """A record of the metadata log."""

    epoch: int
    controller: NodeOrNobody
    """Whose decision it is; nobody's: the beginning of an epoch."""
    operation: int
    end: int
    """Where that controller expects the log to end with it."""


class MetadataLog(msgspec.Struct, frozen=True):
    """The quorum, as controllers see it (specs/controllers/ControllerHandlers.tla)."""

    epoch: int
    leader: NodeOrNobody
    records: tuple[LogRecord, ...]
    committed: int
    """So many of them."""


class Deferred(msgspec.Struct, frozen=True):
    """A request that waits (DeferredEventQueue)."""

    operation: int
    writes: bool
    end: int
    """Its answer waits until so much is committed."""


class Controller(msgspec.Struct, frozen=True):
    """A controller (QuorumController, OffsetControlManager)."""

    epoch: int
    """In which it is active (curClaimEpoch); 0: it is a standby."""
    end: int
    """How many records its state has (nextWriteOffset)."""
    last: int
    """The epoch of the last of them."""
    committed: int
    """How many it knows to be committed (lastStableOffset)."""
    committed_epoch: int
    """The epoch of the last of these (lastCommittedEpoch)."""
    asked: int
    """How many requests it had."""
    deferred: tuple[Deferred, ...]
    """The oldest first."""


class Answer(msgspec.Struct, frozen=True, order=True):
    """What a client knows of a request."""

    controller: Node
    operation: int
    writes: bool
    error: ControllerError
    epoch: int
    """In which the controller was active; 0: it was not."""
    end: int
    """Of the records on which the answer rests."""


class Clients(msgspec.Struct, frozen=True):
    """All clients together."""

    heard: int
    """How many answers they had."""
    answers: SetOf[Answer]


INITIAL_LOG: Final = MetadataLog(0, NOBODY, (), 0)
INITIAL_CONTROLLER: Final = Controller(0, 0, 0, 0, 0, 0, ())
INITIAL_CLIENTS: Final = Clients(0, ())
