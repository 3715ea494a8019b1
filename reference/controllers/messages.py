"""What the metadata log, controllers and their clients receive.

Law of this file: values only. What the log and a controller tell each other arrives once and in
order: in Kafka they are one process, with a queue of events.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from kraftcheck.reference.kit.fields import Node, NodeOrNobody
from kraftcheck.reference.kit.messages import Addressed, Tagged

METADATA_LOG: Final = 0
CLIENTS: Final = -2

ControllerError: TypeAlias = Literal["NONE", "NOT_CONTROLLER"]


class ScheduleAppend(Addressed, frozen=True):
    """A controller appends a decision (RaftClient.prepareAppend, schedulePreparedAppend)."""

    epoch: int
    operation: int
    """The controller's number of the request."""
    end: int
    """Where the controller expects the log to end then."""


class BatchCommitted(Addressed, frozen=True):
    """A record more is committed (RaftClient.Listener.handleCommit)."""

    end: int
    epoch: int
    """Of the record."""


class LeaderAndEpoch(Addressed, frozen=True):
    """The leader has changed (RaftClient.Listener.handleLeaderChange)."""

    leader: NodeOrNobody
    """The receiver, once the beginning of its epoch is committed; or nobody yet."""
    epoch: int
    end: int
    """Of what is committed, if somebody leads."""


class ControllerResponse(Addressed, frozen=True):
    operation: int
    writes: bool
    error: ControllerError
    epoch: int
    """In which the controller was active; 0: it was not."""
    end: int
    """Of the records on which the answer rests."""


# --- What comes to nodes by themselves


class ElectVoter(Tagged, frozen=True):
    """A voter is elected."""

    voter: Node
    end: int
    """How many records its log has."""


class AdvanceHighWatermark(Tagged, frozen=True):
    """One more record is committed."""


class WriteEvent(Tagged, frozen=True):
    """Somebody asks a controller for a decision (ControllerWriteEvent)."""

    writes: bool
    """Whether it has records."""


MESSAGES: Final = (ScheduleAppend, BatchCommitted, LeaderAndEpoch, ControllerResponse)
LOG_INPUTS: Final = (ScheduleAppend, ElectVoter, AdvanceHighWatermark)
CONTROLLER_INPUTS: Final = (WriteEvent, BatchCommitted, LeaderAndEpoch)
CLIENT_INPUTS: Final = (ControllerResponse,)
