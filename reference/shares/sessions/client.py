"""A share consumer's session: the twin of SessionHandlers.tla.

Law of this file: as of broker.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.sessions.messages import (
    BROKER,
    CLIENT_INPUTS,
    FINAL_EPOCH,
    AcknowledgeDelivery,
    CloseSession,
    CommitSession,
    ConnectionClosed,
    ConnectionLost,
    Delivery,
    PollSession,
    SessionAcknowledge,
    SessionAcknowledgeResponse,
    SessionFetch,
    SessionFetchResponse,
)
from kraftcheck.reference.shares.sessions.rules import SessionRules
from kraftcheck.reference.shares.sessions.types import SessionClient


def _union(*of: Iterable[Delivery]) -> tuple[Delivery, ...]:
    return tuple(sorted({each for some in of for each in some}))


def _offsets(deliveries: Iterable[Delivery]) -> tuple[int, ...]:
    return tuple(sorted({each.offset for each in deliveries}))


class SessionClientHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "rules")

    def __init__(self, rules: SessionRules) -> None:
        self.rules = rules
        self._handlers: dict[type, Callable[[int, SessionClient, Any], Outcome | None]] = (
            handlers_of(self, CLIENT_INPUTS)
        )

    def step(self, n: int, row: SessionClient, input: Any) -> Outcome | None:
        """One step of a consumer; None: the input is disabled."""
        return self._handlers[type(input)](n, row, input)

    # --- The application

    def handle_poll_session(self, n: int, row: SessionClient, input: PollSession) -> Outcome | None:
        """Send what is acknowledged with the fetch; a new session has none of it (SH52, SH56)."""
        if row.request != "None" or row.closed:
            return None
        sent = row.acks if self.rules.sends_acks(row) else ()
        after = replace(
            row,
            request="Fetch",
            acks=(),
            sent=sent,
            failed=row.failed if self.rules.sends_acks(row) else _union(row.failed, row.acks),
        )
        return Outcome(after, (SessionFetch(n, BROKER, row.connection, row.epoch, _offsets(sent)),))

    def handle_acknowledge_delivery(
        self, n: int, row: SessionClient, input: AcknowledgeDelivery
    ) -> Outcome | None:
        these = [each for each in row.held if each.offset == input.offset]
        if not these or row.closed or row.request == "Close":
            return None
        rest = tuple([each for each in row.held if each not in these])
        return Outcome(replace(row, held=rest, acks=_union(row.acks, these)))

    def handle_commit_session(
        self, n: int, row: SessionClient, input: CommitSession
    ) -> Outcome | None:
        """SH52."""
        if row.request != "None" or row.closed or not row.acks:
            return None
        if row.epoch == 0:
            return Outcome(replace(row, acks=(), failed=_union(row.failed, row.acks)))
        return self._acknowledge(n, row, row.epoch)

    def handle_close_session(
        self, n: int, row: SessionClient, input: CloseSession
    ) -> Outcome | None:
        """SH55."""
        if row.request != "None" or row.closed:
            return None
        if row.epoch == 0:
            failed = _union(row.failed, row.acks)
            return Outcome(replace(row, held=(), acks=(), failed=failed, closed=True))
        return self._acknowledge(n, row, FINAL_EPOCH)

    def _acknowledge(self, n: int, row: SessionClient, epoch: int) -> Outcome:
        after = replace(
            row,
            request="Close" if epoch == FINAL_EPOCH else "Acknowledge",
            acks=(),
            sent=row.acks,
        )
        asked = SessionAcknowledge(n, BROKER, row.connection, epoch, _offsets(row.acks))
        return Outcome(after, (asked,))

    # --- Responses

    def handle_session_fetch_response(
        self, n: int, row: SessionClient, m: SessionFetchResponse
    ) -> Outcome:
        expected = (row.request, row.connection, row.epoch)
        if expected != ("Fetch", m.connection, m.epoch):
            return Outcome(row, ignored="Late")
        if m.error != "NONE":
            return Outcome(self._reset(row))
        after = self._answered(row, m.refused)
        return Outcome(replace(after, held=_union(row.held, m.records)))

    def handle_session_acknowledge_response(
        self, n: int, row: SessionClient, m: SessionAcknowledgeResponse
    ) -> Outcome:
        is_close = row.request == "Close"
        epoch = FINAL_EPOCH if is_close else row.epoch
        is_asked = row.request == "Acknowledge" or is_close
        if not is_asked or (row.connection, epoch) != (m.connection, m.epoch):
            return Outcome(row, ignored="Late")
        after = self._reset(row) if m.error != "NONE" else self._answered(row, m.refused)
        return Outcome(replace(after, epoch=0, held=(), closed=True) if is_close else after)

    def _answered(self, row: SessionClient, refused: tuple[int, ...]) -> SessionClient:
        """The request succeeded, and so did what it acknowledged and is not refused."""
        return replace(
            row,
            epoch=row.epoch + 1,
            request="None",
            acks=self.rules.acks_after_response(row),
            sent=(),
            done=_union(row.done, [each for each in row.sent if each.offset not in refused]),
            failed=_union(row.failed, [each for each in row.sent if each.offset in refused]),
        )

    def _reset(self, row: SessionClient) -> SessionClient:
        """The request failed as a whole: the session begins anew (SH53)."""
        after = replace(row, epoch=0, request="None")
        if not self.rules.fails_on_error(row):
            return after
        return replace(after, sent=(), failed=_union(row.failed, row.sent))

    def handle_connection_lost(
        self, n: int, row: SessionClient, input: ConnectionLost
    ) -> Outcome | None:
        """The outcome of a request under way is unknown (SH53)."""
        if row.connection == self.rules.constants.max_connections:
            return None
        fails = self.rules.fails_on_disconnect(row)
        after = replace(
            row,
            connection=row.connection + 1,
            epoch=self.rules.epoch_on_reconnect(row),
            request="None",
            closed=row.closed or row.request == "Close",
            sent=() if fails else row.sent,
            failed=_union(row.failed, row.sent) if fails else row.failed,
        )
        return Outcome(after, (ConnectionClosed(n, BROKER, row.connection),))
