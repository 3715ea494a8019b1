"""The broker's share sessions: the twin of SessionHandlers.tla.

Law of this file: every decision is asked of the rules; nothing changes its arguments. What a share
partition does with acknowledgements is `reference/shares`: here they are stored at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.fields import NOBODY, put
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.shares.sessions.messages import (
    BROKER,
    BROKER_INPUTS,
    FINAL_EPOCH,
    AcquisitionLockTimeout,
    ConnectionClosed,
    Delivery,
    SessionAcknowledge,
    SessionAcknowledgeResponse,
    SessionError,
    SessionFetch,
    SessionFetchResponse,
    SessionsLost,
)
from kraftcheck.reference.shares.sessions.rules import SessionRules
from kraftcheck.reference.shares.sessions.types import (
    NO_SESSION,
    SessionBroker,
    SharedRecord,
    ShareSession,
)


def _acknowledged(
    row: SessionBroker, member: int, offsets: Collection[int]
) -> tuple[SessionBroker, tuple[int, ...]]:
    """Acknowledge what the member holds; the rest is refused (SH15)."""
    held = [
        o
        for o in offsets
        if (row.cells[o - 1].state, row.cells[o - 1].member) == ("Acquired", member)
    ]
    cells = row.cells
    for o in held:
        cells = put(cells, o - 1, replace(cells[o - 1], state="Done", member=NOBODY))
    return replace(row, cells=cells), tuple([o for o in offsets if o not in held])


def _acquired(row: SessionBroker, member: int) -> tuple[SessionBroker, tuple[Delivery, ...]]:
    """Deliver the first record that is available."""
    for at, cell in enumerate(row.cells):
        if cell.state == "Available":
            taken = SharedRecord("Acquired", member, cell.count + 1)
            after = replace(row, cells=put(row.cells, at, taken))
            return after, (Delivery(at + 1, taken.count),)
    return row, ()


def _free(cell: SharedRecord) -> SharedRecord:
    return replace(cell, state="Available", member=NOBODY)


class SessionBrokerHandlers:
    """The handlers, for one set of rules."""

    __slots__ = ("_handlers", "_index", "rules")

    def __init__(self, rules: SessionRules) -> None:
        self.rules = rules
        self._index = {n: i for i, n in enumerate(rules.constants.members)}
        self._handlers: dict[type, Callable[[SessionBroker, Any], Outcome | None]] = handlers_of(
            self, BROKER_INPUTS
        )

    def step(self, row: SessionBroker, input: Any) -> Outcome | None:
        """One step of the broker; None: the input is disabled."""
        return self._handlers[type(input)](row, input)

    def _with_session(self, row: SessionBroker, n: int, session: ShareSession) -> SessionBroker:
        return replace(row, sessions=put(row.sessions, self._index[n], session))

    def _is_current(self, row: SessionBroker, m: SessionFetch | SessionAcknowledge) -> bool:
        at = self._index[m.source]
        return self.rules.is_current(row.sessions[at], row.closed[at], m.connection)

    def _error(self, session: ShareSession, epoch: int) -> SessionError:
        """SH29."""
        if session.epoch == 0:
            return "SHARE_SESSION_NOT_FOUND"
        matches = epoch == FINAL_EPOCH or self.rules.epoch_matches(session, epoch)
        return "NONE" if matches else "INVALID_SHARE_SESSION_EPOCH"

    def handle_session_fetch(self, row: SessionBroker, m: SessionFetch) -> Outcome:
        """SH29, SH31."""

        def answer(
            after: SessionBroker,
            error: SessionError,
            refused: tuple[int, ...] = (),
            records: tuple[Delivery, ...] = (),
        ) -> Outcome:
            told = SessionFetchResponse(
                *(BROKER, m.source, m.connection, m.epoch, error, refused), records
            )
            return Outcome(after, (told,))

        session = row.sessions[self._index[m.source]]
        if not self._is_current(row, m):
            return Outcome(row, ignored="Closed")
        if m.epoch == 0:
            if m.offsets:
                return answer(row, "INVALID_REQUEST")
            begun = self._with_session(row, m.source, ShareSession(1, m.connection))
            after, records = _acquired(begun, m.source)
            return answer(after, "NONE", (), records)
        error = self._error(session, m.epoch)
        if error != "NONE":
            return answer(row, error)
        next = replace(session, epoch=session.epoch + 1)
        acked, refused = _acknowledged(self._with_session(row, m.source, next), m.source, m.offsets)
        after, records = _acquired(acked, m.source)
        return answer(after, "NONE", refused, records)

    def handle_session_acknowledge(self, row: SessionBroker, m: SessionAcknowledge) -> Outcome:
        """SH29; the final epoch ends the session (SH30)."""

        def answer(
            after: SessionBroker, error: SessionError, refused: tuple[int, ...] = ()
        ) -> Outcome:
            told = SessionAcknowledgeResponse(
                *(BROKER, m.source, m.connection, m.epoch, error), refused
            )
            return Outcome(after, (told,))

        session = row.sessions[self._index[m.source]]
        if not self._is_current(row, m):
            return Outcome(row, ignored="Closed")
        error = self._error(session, m.epoch)
        if error != "NONE":
            return answer(row, error)
        acked, refused = _acknowledged(row, m.source, m.offsets)
        if m.epoch == FINAL_EPOCH:
            return answer(self._ended(acked, m.source, session.connection), "NONE", refused)
        next = replace(session, epoch=session.epoch + 1)
        return answer(self._with_session(acked, m.source, next), "NONE", refused)

    def _closed(self, row: SessionBroker, n: int, connection: int) -> tuple[int, ...]:
        at = self._index[n]
        return put(row.closed, at, max(row.closed[at], connection))

    def _ended(self, row: SessionBroker, n: int, connection: int) -> SessionBroker:
        """The session of a member ends, and its records are released (SH24, SH30)."""
        cells = tuple([_free(cell) if cell.member == n else cell for cell in row.cells])
        return replace(
            self._with_session(row, n, NO_SESSION),
            cells=cells,
            closed=self._closed(row, n, connection),
        )

    def handle_connection_closed(self, row: SessionBroker, m: ConnectionClosed) -> Outcome:
        """SH30."""
        session = row.sessions[self._index[m.source]]
        if session.epoch != 0 and self.rules.ends_session(session, m.connection):
            return Outcome(self._ended(row, m.source, m.connection))
        return Outcome(replace(row, closed=self._closed(row, m.source, m.connection)))

    def handle_acquisition_lock_timeout(
        self, row: SessionBroker, input: AcquisitionLockTimeout
    ) -> Outcome | None:
        """SH22."""
        at = input.offset - 1
        if row.cells[at].state != "Acquired":
            return None
        return Outcome(replace(row, cells=put(row.cells, at, _free(row.cells[at]))))

    def handle_sessions_lost(self, row: SessionBroker, input: SessionsLost) -> Outcome:
        """SH1."""
        none = (NO_SESSION,) * len(row.sessions)
        cells = tuple([_free(c) if c.state == "Acquired" else c for c in row.cells])
        return Outcome(replace(row, sessions=none, cells=cells, restarts=row.restarts + 1))
