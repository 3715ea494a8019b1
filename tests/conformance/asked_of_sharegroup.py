"""What a share group's state is asked on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.shares.sharegroup.messages import GROUP, LEADER, STORE, WriteState
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.shares.sharegroup.plants import ADDED, PLANTED, SETTLED


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    of = Abstraction(ADDED)
    return {
        "group": of.row(rows[GROUP]),
        "store": of.row(rows[STORE]),
        "leader": of.row(rows[LEADER]),
        "network": frozenset(),
    }


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for epoch in range(3):
        group = replace(SETTLED[GROUP], epoch=epoch)
        for rule in ("FirstEpoch", "FirstStart", "AlteredEpoch"):
            yield rule, (group,)
        yield from ((rule, (group,)) for rule in ("RetriesInitialize", "DeletesState"))
        for stored in range(3):
            store = replace(SETTLED[STORE], state_epoch=stored)
            yield "Initializes", (store, epoch)
            yield "EpochAfterDelete", (store,)
            yield "WriteAccepted", (store, WriteState(LEADER, STORE, 1, epoch, 2, 1))


PLAIN: Final = Plain(
    PLANTED,
    "ShareGroupProperties",
    (),
    variables,
    questions,
    (ADDED, replace(ADDED, added=False)),
    ("Z452", {"Initializes"}),
)
