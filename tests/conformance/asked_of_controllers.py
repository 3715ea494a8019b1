"""What controllers are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.controllers.messages import CLIENTS, METADATA_LOG
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.controllers.plants import ACTIVE, LOG, PLANTED, STANDBY, TWO
from tests.reference.plain import Rows
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    of = Abstraction(TWO)
    nothing: Any = function({n: () for n in TWO.controllers})
    return {
        "log": of.row(rows[METADATA_LOG]),
        "controllers": function({n: of.row(rows[n]) for n in TWO.controllers}),
        "clients": of.row(rows[CLIENTS]),
        "appends": nothing,
        "events": nothing,
    }


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for epoch in range(4):
        yield "AcceptsAppend", (LOG, epoch)
    (waits,) = ACTIVE.deferred
    for end, committed in itertools.product(range(4), range(4)):
        yield "IsComplete", (replace(waits, end=end), committed)
    for row in (ACTIVE, STANDBY, replace(ACTIVE, deferred=(replace(waits, end=2), waits))):
        for rule in ("WaitsFor", "DefersRecords", "RevertsOnRenounce", "FailsOnRenounce"):
            yield rule, (row,)


PLAIN: Final = Plain(
    PLANTED,
    "ControllerProperties",
    ("CommittedStays",),
    variables,
    questions,
    (TWO,),
    ("Z463", {"IsComplete"}),
)
