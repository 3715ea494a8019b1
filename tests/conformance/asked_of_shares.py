"""What share partitions are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final, get_args

from msgspec.structs import replace

from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    CellState,
    ShareAcknowledge,
    StoredCell,
    WrittenCell,
)
from kraftcheck.reference.shares.types import Cell
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.shares.plants import (
    HELD,
    HOLDER,
    LED,
    MOVES,
    PLANTED,
    RECORD,
    STORED,
    TWO,
    WRITE,
)
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    of = Abstraction(TWO)
    return {
        "coordinator": of.row(rows[COORDINATOR]),
        "leader": of.row(rows[LEADER]),
        "clients": function({n: of.row(rows[n]) for n in TWO.members}),
        "network": frozenset(),
    }


def cells() -> Iterator[Cell]:
    for state, moving, member in itertools.product(get_args(CellState), (True, False), (1, 2)):
        yield replace(HELD, state=state, moving=moving, member=member)
    yield MOVES
    for state in ("Available", "Archived", "Acknowledged"):
        yield replace(MOVES, state=state, final=True, expired=True)
        yield replace(MOVES, state=state, moving=False)


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for epochs in itertools.product((1, 2, 3), range(4), (0, 1, 2)):
        leader_epoch, incarnation, state_epoch = epochs
        write = replace(
            WRITE, leader_epoch=leader_epoch, incarnation=incarnation, state_epoch=state_epoch
        )
        for rule in ("WriteAccepted", "WrittenEpoch", "StoredStart"):
            yield rule, (STORED, replace(write, start=epochs[0]))
        yield "WriteAccepted", (replace(STORED, leader_epoch=2, incarnation=1), write)
        yield "FencingRemoves", (LED, write)
        yield "ReadIsRecorded", (STORED, incarnation)
    for count in (1, 2, 3):
        yield from ((rule, (count,)) for rule in ("Released", "RolledBack"))
        for state in ("Available", "Acknowledged", "Archived"):
            known = StoredCell("Acknowledged", 2)
            yield "Wins", (WrittenCell(1, state, count), known)
    for cell in cells():
        yield "MayAcknowledge", (cell, 1)
        for rule in ("MayPass", "FinalStays", "ReleasesExpired", "LockReleases"):
            yield rule, (cell,)
    for row in (
        *(LED, replace(LED, start=1, log_start=2), replace(LED, gap=2, gap_end=4)),
        *(replace(LED, start=3, log_start=2), replace(LED, end=LED.start + TWO.max_in_flight)),
        *(replace(LED, cells=(cell, HELD, MOVES, cell)) for cell in cells()),
    ):
        yield from ((rule, (row,)) for rule in ("StoresResolvedStart", "AnswerWaits"))
        yield from (("SessionReleases", (row, n)) for n in TWO.members)
        yield from (("LoadedGap", (row, holes)) for holes in ((), (2,), (2, 3)))
        for offset in (1, 2, 3, 4):
            for rule in ("MovedGap", "AcquirableFrom", "MayAcquire", "AdvancedStart", "Skips"):
                yield rule, (row, offset)
    for last in (1, 2, 3):
        acked = ShareAcknowledge(1, LEADER, 1, last, "ACCEPT")
        yield "RefusedAs", (replace(LED, end=2), acked)
    for epoch in (1, 2, 3):
        yield "ForgetsHeld", (HOLDER, RECORD, epoch)


PLAIN: Final = Plain(
    PLANTED,
    "ShareProperties",
    (
        *("StartOffsetMonotonic", "StartPassesFinished", "DoneStaysDone", "AcquiresFromStart"),
        *("SessionReleasesAll", "StoredStartMonotonic", "StaleWriteRefused", "ReadFences"),
    ),
    variables,
    questions,
    (TWO,),
    ("Z433", {"Released"}),
)
