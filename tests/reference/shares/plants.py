"""A violation of each property of share partitions: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import NOBODY, put
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    DeliveredRecord,
    ReadShareGroupStateResponse,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
    WrittenCell,
)
from kraftcheck.reference.shares.protocol import SHARES
from kraftcheck.reference.shares.types import (
    NO_CELL,
    NO_STORED,
    AskedAck,
    Cell,
    Constants,
    PendingAck,
    ShareConsumer,
    initial_coordinator,
    initial_leader,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1, 2), 4, (1, 2, 3, 4), 2, 2, False, 3, 6, 2)

# The first leader's record 1 is done. Of the second leader, member 1 holds record 2, and member 2
# acknowledges record 3.
WRITE: Final = WriteShareGroupState(
    LEADER, COORDINATOR, 2, 2, 1, 2, (WrittenCell(3, "Acknowledged", 1),)
)
ACK: Final = PendingAck(2, 3, 3, "ACCEPT", WRITE)
ENDED: Final = PendingAck(NOBODY, 0, 0, "RELEASE", WRITE)
HELD: Final = replace(NO_CELL, state="Acquired", count=1, member=1)
MOVES: Final = replace(NO_CELL, state="Acknowledged", count=1, moving=True, previous=2)
LED: Final = replace(
    initial_leader(TWO),
    high_watermark=3,
    leader_epoch=2,
    incarnation=2,
    state_epoch=1,
    phase="Active",
    start=2,
    end=4,
    cells=(NO_CELL, HELD, MOVES, NO_CELL),
    pending=(ACK,),
)
FIRST: Final = initial_coordinator(TWO)
STORED: Final = replace(FIRST.log.committed, start=2, leader_epoch=2, incarnation=2)
STORES: Final = replace(FIRST, log=replace(FIRST.log, committed=STORED))
RECORD: Final = DeliveredRecord(2, 1, 2, 2)
HOLDER: Final = ShareConsumer(2, (RECORD,), (), ())
ASKS: Final = ShareConsumer(2, (), (AskedAck(3, 3, "ACCEPT"),), (1,))
SETTLED: Final[Rows] = {COORDINATOR: STORES, LEADER: LED, 1: HOLDER, 2: ASKS}


def led(**fields: Any) -> Rows:
    return {**SETTLED, LEADER: replace(LED, **fields)}


def with_cell(offset: int, cell: Cell, **fields: Any) -> Rows:
    return led(cells=put(LED.cells, offset - 1, cell), **fields)


def member(n: int, **fields: Any) -> Rows:
    return {**SETTLED, n: replace(SETTLED[n], **fields)}


def stored(**fields: Any) -> Rows:
    log = replace(FIRST.log, committed=replace(STORED, **fields))
    return {**SETTLED, COORDINATOR: replace(FIRST, log=log)}


def waiting(answer: Any) -> Rows:
    return {**SETTLED, COORDINATOR: replace(STORES, waiting=(answer,))}


def plants() -> tuple[Plant, ...]:
    done = replace(NO_CELL, state="Acknowledged", count=1)
    old_write = replace(WRITE, leader_epoch=1, incarnation=1)
    read = ReadShareGroupStateResponse(
        *(COORDINATOR, LEADER, "NONE", 3, 1, 2), (NO_STORED,) * TWO.records
    )
    after = {
        "SharesTypeInv": led(end=3),
        "SingleAcquirer": member(2, held=(RECORD,)),
        "AcknowledgedNeverRedelivered": member(2, done=(1, 2)),
        "StateRecoverable": member(2, done=(1, 3)),
        "DeliveryCountBounded": with_cell(2, replace(HELD, count=3)),
        "InFlightBounded": led(start=1),
        "WindowFollowsStart": led(gap=1, gap_end=4),
        "GapsAreFetched": with_cell(2, NO_CELL),
        "AcquiredHasLock": with_cell(2, replace(HELD, expired=True)),
        "MovingIsPending": led(pending=()),
        "OnlyHolderEnds": with_cell(3, replace(MOVES, previous=1)),
        "HeldIsOfItsLeader": member(1, leader_epoch=3),
        "StartIsStored": stored(start=0),
        "DeliveredIsThere": led(high_watermark=1),
        "StartOffsetMonotonic": led(start=1),
        "StartPassesFinished": led(start=3),
        "AcquiresFromStart": with_cell(1, HELD),
        "StoredStartMonotonic": stored(start=1),
        "StaleWriteRefused": waiting(
            WriteShareGroupStateResponse(COORDINATOR, LEADER, "NONE", old_write)
        ),
        "ReadFences": waiting(read),
    }
    both = with_cell(2, replace(HELD, member=2), pending=(ENDED,))
    return (
        *[Plant(name, SETTLED, rows) for name, rows in after.items()],
        Plant("SessionReleasesAll", SETTLED, both),
        Plant("StateRecoverable", SETTLED, member(2, done=(2,))),
        Plant("DoneStaysDone", with_cell(2, done), SETTLED),
        Plant("SharesTypeInv", SETTLED, with_cell(2, replace(HELD, member=NOBODY))),
        Plant("SharesTypeInv", SETTLED, with_cell(2, replace(HELD, moving=True))),
    )


TWINS: Final = (Plant("SessionReleasesAll", SETTLED, led(pending=(ENDED,))),)
PLANTED: Final = Planted(SHARES, TWO, initial_rows(SHARES, TWO), SETTLED, plants(), TWINS)
