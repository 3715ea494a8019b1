"""What runs of share sessions should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.shares.sessions.messages import (
    CloseSession,
    ConnectionClosed,
    ConnectionLost,
    SessionAcknowledge,
    SessionFetch,
)
from kraftcheck.reference.shares.sessions.types import SessionBroker, SessionClient

sometimes = Conditions()


@sometimes(SessionFetch, SessionAcknowledge)
def session_is_not_found(sent: tuple[Any, ...]) -> bool:
    """A consumer uses a session that has ended."""
    return any(each.error == "SHARE_SESSION_NOT_FOUND" for each in sent)


@sometimes(SessionFetch, SessionAcknowledge)
def acknowledgement_is_refused(sent: tuple[Any, ...]) -> bool:
    """A consumer acknowledges what it does not hold any more."""
    return any(each.refused for each in sent)


@sometimes(SessionFetch)
def session_is_replaced(before: SessionBroker, input: SessionFetch, after: SessionBroker) -> bool:
    """A consumer begins a session before the end of its former one."""
    pairs = zip(before.sessions, after.sessions, strict=True)
    return input.epoch == 0 and any(old.epoch > 1 and new.epoch == 1 for old, new in pairs)


@sometimes(ConnectionClosed)
def end_of_connection_releases(before: SessionBroker, after: SessionBroker) -> bool:
    """A connection ends whose member holds records."""
    return before.cells != after.cells


@sometimes(ConnectionClosed)
def former_connection_ends_late(before: SessionBroker, after: SessionBroker) -> bool:
    """The end of a connection is seen after a session has begun on the next one."""
    return before.closed != after.closed and before.sessions == after.sessions != ()


@sometimes(ConnectionLost)
def request_is_lost_with_acknowledgements(before: SessionClient) -> bool:
    """A connection breaks while acknowledgements are under way."""
    return bool(before.sent)


@sometimes(CloseSession)
def consumer_closes_with_records(before: SessionClient) -> bool:
    """A consumer is closed that holds records."""
    return bool(before.held)
