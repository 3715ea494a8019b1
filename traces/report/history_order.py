"""A partition's log as clients saw it: who put, or saw, which value at which offset.

The best picture of a log that diverged [jepsen.tests.kafka, orders/*.svg]: a row for each operation
that says something of the offsets in question, a column for each offset, and a colour for each of
the values that claim one place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.traces.history import FAIL, History, Operation
from kraftcheck.traces.report import history_words as words

KEYS_MAX: Final = 3
OFFSETS_MAX: Final = 16
ROWS_MAX: Final = 24
COLOURS: Final = 6
"""How many values of one offset are told apart by colour; the rest share the last."""


class Cell(NamedTuple):
    """What an operation says of an offset."""

    text: str
    colour: int
    """0 where nobody disagrees, else from 1."""


class Row(NamedTuple):
    operation: int
    said: str
    outcome: str
    accused: bool
    cells: tuple[Cell | None, ...]


class Order(NamedTuple):
    key: str | None
    offsets: tuple[int, ...]
    disputed: frozenset[int]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


def orders(history: History, wanted: Sequence[tuple[str | None, Sequence[int]]]) -> list[Order]:
    """A view for each of the keys; `wanted` has them with the operations of their certificates."""
    found = []
    for key, accused in wanted[:KEYS_MAX]:
        view = _order([o for o in history.operations if o.key == key], key, set(accused))
        if view is not None:
            found.append(view)
    return found


def _said(operation: Operation) -> Iterable[tuple[int, Any]]:
    """(offset, value) of everything that an operation says is in the log."""
    if operation.f == "append" and operation.outcome != FAIL and type(operation.result) is int:
        yield operation.result, operation.argument
    elif operation.f == "fetch":
        yield from operation.result or ()


def _order(operations: list[Operation], key: str | None, accused: set[int]) -> Order | None:
    values: defaultdict[int, dict[Any, int]] = defaultdict(dict)
    for operation in operations:
        for offset, value in _said(operation):
            values[offset].setdefault(value, len(values[offset]) + 1)
    if not values:
        return None
    disputed = {offset for offset, said in values.items() if len(said) > 1}
    offsets = _window(sorted(values), disputed, operations, accused)
    shown = set(offsets)
    concerned = [o for o in operations if any(at in shown for at, _ in _said(o))]
    kept = _rows(concerned, disputed & shown, accused)
    notes = []
    if len(offsets) < len(values):
        notes.append(f"{len(offsets):,} of {len(values):,} offsets (at most {OFFSETS_MAX})")
    if len(kept) < len(concerned):
        notes.append(f"{len(kept):,} of {len(concerned):,} operations (at most {ROWS_MAX})")
    rows = tuple(_row(o, offsets, values, disputed, accused) for o in kept)
    return Order(key, tuple(offsets), frozenset(disputed & shown), rows, tuple(notes))


def _window(
    known: list[int], disputed: set[int], operations: list[Operation], accused: set[int]
) -> list[int]:
    """The offsets around the first that is disputed, or around those of the certificate."""
    if len(known) <= OFFSETS_MAX:
        return known
    centre = min(disputed, default=known[0])
    if not disputed:
        named = [at for o in operations if o.index in accused for at, _ in _said(o)]
        centre = max(named, default=known[0])
    at = max(0, min(known.index(centre) - OFFSETS_MAX // 2, len(known) - OFFSETS_MAX))
    return known[at : at + OFFSETS_MAX]


def _rows(concerned: list[Operation], disputed: set[int], accused: set[int]) -> list[Operation]:
    """The accused, then who speaks of a disputed offset, then the others; in order again."""
    if len(concerned) <= ROWS_MAX:
        return concerned

    def rank(operation: Operation) -> tuple[int, int]:
        if operation.index in accused:
            return 0, operation.index
        speaks = any(at in disputed for at, _ in _said(operation))
        return 1 if speaks else 2, operation.index

    return sorted(sorted(concerned, key=rank)[:ROWS_MAX], key=lambda each: each.index)


def _row(
    operation: Operation,
    offsets: Sequence[int],
    values: dict[int, dict[Any, int]],
    disputed: set[int],
    accused: set[int],
) -> Row:
    letter = "w" if operation.f == "append" else "r"
    said = dict(_said(operation))
    cells: list[Cell | None] = []
    for offset in offsets:
        if offset not in said:
            cells.append(None)
            continue
        colour = min(values[offset][said[offset]], COLOURS) if offset in disputed else 0
        cells.append(Cell(f"{letter} {words.text(said[offset], 12)}", colour))
    return Row(
        operation=operation.index,
        said=f"process {operation.process}: {words.request_words(operation)}",
        outcome=operation.outcome,
        accused=operation.index in accused,
        cells=tuple(cells),
    )
