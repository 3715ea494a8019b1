"""The decisions of share sessions that have a name: the twin of SessionRules.tla.

Law of this file: nothing but arguments and constants is looked at. A bug overrides a method.
"""

from __future__ import annotations

from kraftcheck.reference.shares.sessions.messages import Delivery
from kraftcheck.reference.shares.sessions.types import Constants, SessionClient, ShareSession


class SessionRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- The broker

    def is_current(self, session: ShareSession, closed: int, connection: int) -> bool:
        """Drop a request of a connection that is closed, or was replaced.

        Kafka looks at the epoch alone (SH29).
        """
        return connection > closed and connection >= session.connection

    def epoch_matches(self, session: ShareSession, epoch: int) -> bool:
        """A request has the epoch that the broker expects, so it is handled once (SH29)."""
        return epoch == session.epoch

    def ends_session(self, session: ShareSession, connection: int) -> bool:
        """The end of a connection ends the session of that connection, and no other (SH30)."""
        return session.connection == connection

    # --- Consumers

    def sends_acks(self, row: SessionClient) -> bool:
        """Acknowledge nothing with the first request of a session (SH29, SH56)."""
        return row.epoch != 0

    def acks_after_response(self, row: SessionClient) -> tuple[Delivery, ...]:
        """Keep what was acknowledged while the request was under way (SH52)."""
        return row.acks

    def fails_on_error(self, row: SessionClient) -> bool:
        """Report the acknowledgements of a request that failed as a whole (SH53)."""
        return True

    def fails_on_disconnect(self, row: SessionClient) -> bool:
        """Report those of a request whose connection was lost (SH53)."""
        return True

    def epoch_on_reconnect(self, row: SessionClient) -> int:
        """Begin a session with each connection (SH30)."""
        return 0
