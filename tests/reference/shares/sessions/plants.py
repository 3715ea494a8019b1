"""A violation of each property of share sessions: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.shares.sessions.messages import BROKER, Delivery
from kraftcheck.reference.shares.sessions.protocol import SESSIONS
from kraftcheck.reference.shares.sessions.types import (
    INITIAL_CLIENT,
    NO_SESSION,
    UNDELIVERED,
    Constants,
    SessionBroker,
    SharedRecord,
    ShareSession,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1, 2), 3, 4)

# Member 1 has acknowledged record 1 and holds record 2, on its second connection. Member 2 has no
# session.
ONE: Final = Delivery(1, 1)
HELD: Final = Delivery(2, 1)
SERVES: Final = SessionBroker(
    (ShareSession(3, 2), NO_SESSION),
    (1, 0),
    (SharedRecord("Done", NOBODY, 1), SharedRecord("Acquired", 1, 1), UNDELIVERED),
    0,
)
HOLDER: Final = replace(INITIAL_CLIENT, connection=2, epoch=3, held=(HELD,), done=(ONE,))
SETTLED: Final[Rows] = {BROKER: SERVES, 1: HOLDER, 2: INITIAL_CLIENT}


def broker(**fields: Any) -> Rows:
    return {**SETTLED, BROKER: replace(SERVES, **fields)}


def member(n: int, **fields: Any) -> Rows:
    return {**SETTLED, n: replace(SETTLED[n], **fields)}


ACKED: Final = member(1, held=(), acks=(HELD,))


def plants() -> tuple[Plant, ...]:
    done, _, free = SERVES.cells
    ended = (NO_SESSION, NO_SESSION)
    after = {
        "SessionsTypeInv": broker(cells=(done, SharedRecord("Acquired", NOBODY, 1), free)),
        "OneDelivery": member(2, held=(HELD,)),
        "SentIsUnderWay": member(1, sent=(HELD,)),
        "NewSessionHasNoAcks": member(2, request="Fetch", sent=(HELD,)),
        "DoneWasAcked": member(1, done=()),
        "AckedIsDone": member(1, done=(ONE, HELD)),
        "SessionIsOfConnection": member(1, connection=3),
        "SessionEndsWithConnection": broker(sessions=ended, cells=(done, UNDELIVERED, free)),
        "SessionEndReleases": broker(sessions=ended, closed=(2, 0)),
    }
    return (
        *[Plant(name, SETTLED, rows) for name, rows in after.items()],
        Plant("AckIsNotLost", ACKED, member(1, held=())),
        Plant("SessionsTypeInv", SETTLED, broker(sessions=(ShareSession(3, 0), NO_SESSION))),
    )


TWINS: Final = (Plant("AckIsNotLost", ACKED, ACKED),)
PLANTED: Final = Planted(SESSIONS, TWO, initial_rows(SESSIONS, TWO), SETTLED, plants(), TWINS)
