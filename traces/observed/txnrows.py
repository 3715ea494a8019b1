"""Rows of the coordinators' log by themselves: whether they follow each other (X1 to X27)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kraftcheck.traces.observed.txnlog import (
    COMPLETED,
    EMPTY,
    ONGOING,
    PREPARED,
    TAKEN_BACK,
    TOPIC,
    Log,
    Row,
)
from kraftcheck.traces.observed.verdicts import Defect

STATES = "TransactionStates"
EPOCHS = "EpochMonotonic"
HELD_ONCE = "EpochHeldOnce"
STUCK = "stuck"

PREVIOUS: Final = {
    EMPTY: {EMPTY, *COMPLETED},
    ONGOING: {ONGOING, EMPTY, *COMPLETED},
    "PrepareCommit": {ONGOING},
    "PrepareAbort": {ONGOING, EMPTY, *COMPLETED},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    TAKEN_BACK: {EMPTY, *COMPLETED},
}
"""org.apache.kafka.coordinator.transaction.TransactionState.VALID_PREVIOUS_STATES."""
PER_TRANSACTION: Final = 2
"""The version of a client whose epoch rises with every transaction (TV2, KIP-890)."""
MARKERS_MS: Final = 5_000
"""How long markers may take in a cluster at rest: a coordinator writes them at once."""
NOBODY: Final = -1


def rows_of(log: Log, asked: Counter[str]) -> Iterator[Defect]:
    for id, rows in sorted(log.rows.items()):
        key = f"{TOPIC}-{log.partition_of[id]}"
        before: Row | None = None
        for row in rows:
            asked[STATES] += 1
            was = before.state if before else TAKEN_BACK
            may = PREVIOUS.get(row.state, set())
            if was not in may and not (was == TAKEN_BACK and row.state == EMPTY):
                reason = f"offset {row.offset}: {id} is {_named(row)} after {was or 'nothing'}"
                yield Defect(STATES, key, (), reason)
                break
            if before is not None and row.state != TAKEN_BACK and was != TAKEN_BACK:
                asked[EPOCHS] += 1
                if wrong := _wrong_identity(before, row):
                    yield Defect(EPOCHS, key, (), f"offset {row.offset}: {id}: {wrong}")
                    break
                if wrong := _wrong_partitions(before, row):
                    yield Defect(STATES, key, (), f"offset {row.offset}: {id}: {wrong}")
                    break
            before = row
    yield from held_once(log, asked)


def held_once(log: Log, asked: Counter[str]) -> Iterator[Defect]:
    owner: dict[int, str] = {}
    for id, rows in sorted(log.rows.items()):
        asked[HELD_ONCE] += 1
        for row in rows:
            if row.state != TAKEN_BACK and owner.setdefault(row.producer, id) != id:
                reason = f"producer {row.producer} is {owner[row.producer]} and {id}"
                yield Defect(HELD_ONCE, f"{TOPIC}-{log.partition_of[id]}", (), reason)
                break


def _named(row: Row) -> str:
    return row.state or "taken back"


def _wrong_identity(before: Row, row: Row) -> str | None:
    """Say which rule a wrong producer identity breaks.

    X7 for Empty. X20 for a decision, with which a TV2 client's epoch rises (a TV1 client's rises by
    a coordinator's own fence too, X8). X25 for what is complete.
    """
    (producer, epoch), (was, old) = row.identity, before.identity
    rises = epoch == old + 1
    if row.state == EMPTY:
        right = epoch == 0 if producer != was else rises or epoch == old
    elif row.state == ONGOING:
        right = row.identity == before.identity
    elif row.state == "PrepareCommit":
        right = producer == was and (rises if row.version >= PER_TRANSACTION else epoch == old)
    elif row.state == "PrepareAbort":
        may_stay = row.version < PER_TRANSACTION and epoch == old
        right = producer == was and (rises or may_stay)
    else:
        anew = before.next != NOBODY and row.identity == (before.next, 0)
        right = row.identity == before.identity or anew
    return None if right else f"{row.state} of {row.identity} after {before.state} of {(was, old)}"


def _wrong_partitions(before: Row, row: Row) -> str | None:
    had, has = set(before.partitions), set(row.partitions)
    if row.state in (EMPTY, *COMPLETED):
        right = not has
    elif row.state == ONGOING:
        right = had <= has if before.state == ONGOING else True
    else:
        right = has == had if before.state == ONGOING else not has
    return None if right else f"{row.state} of {sorted(has)} after {before.state} of {sorted(had)}"


def stuck(log: Log, asked: Counter[str], left: dict[str, str]) -> Iterator[Defect]:
    for id, rows in sorted(log.rows.items()):
        last, age = rows[-1], log.time - rows[-1].time
        asked[STUCK] += 1
        if last.state in PREPARED and age < MARKERS_MS:
            left[STUCK] = f"{id} was decided {age} ms before the end"
        elif last.state in PREPARED:
            reason = f"offset {last.offset}: {id} is {last.state} for {age} ms, and not complete"
            yield Defect(STUCK, f"{TOPIC}-{log.partition_of[id]}", (), reason)
