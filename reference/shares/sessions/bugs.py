"""Known bugs of share sessions, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.shares.sessions.messages import Delivery
from kraftcheck.reference.shares.sessions.rules import SessionRules
from kraftcheck.reference.shares.sessions.types import SessionClient, ShareSession


class Z440LateRequestIsHandled(SessionRules):
    __slots__ = ()

    def is_current(self, session: ShareSession, closed: int, connection: int) -> bool:
        return True


class Z441AnyConnectionEndsTheSession(SessionRules):
    __slots__ = ()

    def ends_session(self, session: ShareSession, connection: int) -> bool:
        return True


class Z442AcksBeginASession(SessionRules):
    __slots__ = ()

    def sends_acks(self, row: SessionClient) -> bool:
        return True


class Z443ResponseDropsAcks(SessionRules):
    __slots__ = ()

    def acks_after_response(self, row: SessionClient) -> tuple[Delivery, ...]:
        return ()


class Z444ErrorIsNotReported(SessionRules):
    __slots__ = ()

    def fails_on_error(self, row: SessionClient) -> bool:
        return False


class Z445DisconnectIsNotReported(SessionRules):
    __slots__ = ()

    def fails_on_disconnect(self, row: SessionClient) -> bool:
        return False


class Z446ReconnectIsNotNoticed(SessionRules):
    __slots__ = ()

    def epoch_on_reconnect(self, row: SessionClient) -> int:
        return row.epoch if row.request == "None" else 0
