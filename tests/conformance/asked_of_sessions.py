"""What share sessions are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final, get_args

from msgspec.structs import replace

from kraftcheck.reference.shares.sessions.messages import BROKER
from kraftcheck.reference.shares.sessions.types import NO_SESSION, SessionRequest, ShareSession
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.shares.sessions.plants import HELD, HOLDER, PLANTED, TWO
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    of = Abstraction(TWO)
    return {
        "broker": of.row(rows[BROKER]),
        "clients": function({n: of.row(rows[n]) for n in TWO.members}),
        "network": frozenset(),
    }


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for session in (NO_SESSION, ShareSession(1, 1), ShareSession(2, 2)):
        for number in range(4):
            yield "EpochMatches", (session, number)
            yield "EndsSession", (session, number)
            yield from (("IsCurrent", (session, closed, number)) for closed in range(3))
    for request, epoch in itertools.product(get_args(SessionRequest), (0, 1)):
        row = replace(HOLDER, request=request, epoch=epoch, acks=(HELD,))
        for rule in ("SendsAcks", "AcksAfterResponse", "FailsOnError", "FailsOnDisconnect"):
            yield rule, (row,)
        yield "EpochOnReconnect", (row,)


PLAIN: Final = Plain(
    PLANTED,
    "SessionProperties",
    ("AckIsNotLost", "SessionEndsWithConnection", "SessionEndReleases"),
    variables,
    questions,
    (TWO,),
    ("Z441", {"EndsSession"}),
)
