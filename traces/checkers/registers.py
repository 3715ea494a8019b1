"""Registers in which every value is written once: decided by zones, without a search.

Gibbons and Korach, "Testing shared memories" (SIAM J. Comput. 26, 1997), section 4.2. A value's
*cluster* is its write and the reads that answered it. With f the first completion in a cluster and
s the last invocation, the value must be there from f to s if f < s (its *forward zone* [f, s]);
else all its operations overlap, and it needs to be there for a moment between s and f only (its
*backward zone* [s, f]). The history is linearizable if and only if

    every read answers a value that was written, and does not complete before its write began;
    no two forward zones overlap;
    no backward zone lies inside a forward zone.

O(n log n), as columns. The initial value is a write that ended before everything. A write of
unknown outcome that nobody read may as well not have happened; one that was read ends with its
first reader at the latest. Where two times are equal the operations overlap, as everywhere.

Applies to `register` (and to `cas-register` where no compare-and-set says anything), if no two
writes are of one value and none is of the initial value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kraftcheck.traces.checkers.models import REGISTERS
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED, Certificate, Verdict, shown
from kraftcheck.traces.history import INDETERMINATE, Operation

_EVER: Final = np.iinfo(np.int64).max
_BEFORE: Final = np.iinfo(np.int64).min

Ints = npt.NDArray[np.int64]


class Zones(NamedTuple):
    """A row for each value that was read or acknowledged; the initial value's is row 0.

    first, last: the earliest completion and the latest invocation of its operations. ends, begins:
    the operations that these are of (positions; -1: the register's beginning).
    """

    values: list[Any]
    first: Ints
    last: Ints
    ends: Ints
    begins: Ints


class Conflict(NamedTuple):
    """Why there is no linearization."""

    operations: tuple[int, ...]
    """Positions, the victim last."""
    kind: str
    sentence: str


def applies(operations: Sequence[Operation], model: Model) -> bool:
    """Whether zones decide it: a register of ours, its writes all different."""
    if type(model) not in REGISTERS:
        return False
    written = set()
    for each in operations:
        if each.f == "write":
            if not model.judges(each):
                continue
            if each.argument in written or each.argument == model.initial():
                return False
            written.add(each.argument)
        elif each.f != "read" and model.judges(each):
            return False
    return True


def check_object(operations: Sequence[Operation], model: Model) -> Verdict:
    """The verdict on a register to which zones apply. Raises ValueError: no operation."""
    if not operations:
        raise ValueError("an empty history is no history")
    judged = [each for each in operations if model.judges(each)]
    key = operations[0].key
    if not judged:
        return Verdict(verdict=HOLDS, model=model.name, key=key, witness=())
    found = decide(judged, model.initial())
    if isinstance(found, Conflict):
        named = tuple(judged[at].index for at in found.operations)
        certificate = Certificate(
            operations=named, kind=found.kind, sentence=found.sentence, key=key
        )
        return Verdict(verdict=VIOLATED, model=model.name, key=key, certificate=certificate)
    witness = tuple(judged[at].index for at in found)
    return Verdict(verdict=HOLDS, model=model.name, key=key, witness=witness)


def decide(judged: Sequence[Operation], initial: Any) -> Conflict | list[int]:
    """A conflict, or a linearization as positions if there is none."""
    number: dict[Any, int] = {initial: 0}
    writer = [-1]
    for at, each in enumerate(judged):
        if each.f == "write":
            number[each.argument] = len(writer)
            writer.append(at)
    rows = np.empty(len(judged), dtype=np.int64)
    for at, each in enumerate(judged):
        row = number.get(each.argument if each.f == "write" else each.result)
        if row is None:
            said = f"{_named(each)} answered {shown(each.result)}, which was never written"
            return Conflict((at,), "phantom", said)
        rows[at] = row
    begins = np.array([each.invoked for each in judged], dtype=np.int64)
    ends = np.array(
        [_EVER if e.outcome == INDETERMINATE else e.completed for e in judged], dtype=np.int64
    )
    early = _reads_before_writes(judged, rows, begins, ends, writer)
    if early is not None:
        return early
    zones = _zones(list(number), rows, begins, ends)
    clash = _overlap(judged, zones) or _inside(judged, zones)
    return clash or _linearization(judged, rows, zones)


def _named(operation: Operation) -> str:
    return f"the {operation.f} (operation {operation.index}, process {operation.process})"


def _reads_before_writes(
    judged: Sequence[Operation], rows: Ints, begins: Ints, ends: Ints, writer: list[int]
) -> Conflict | None:
    written = np.array(writer, dtype=np.int64)[rows]
    began = np.where(written < 0, _BEFORE, begins[written])
    early = np.flatnonzero(ends < began)
    if not len(early):
        return None
    reader = int(early[0])
    write = int(written[reader])
    said = f"{_named(judged[reader])} answered {shown(judged[reader].result)} and had completed "
    said += f"before {_named(judged[write])} of it was invoked"
    return Conflict((write, reader), "future-read", said)


def _zones(values: list[Any], rows: Ints, begins: Ints, ends: Ints) -> Zones:
    """The earliest completion and the latest invocation of each value, and whose they are."""
    first = np.full(len(values), _EVER, dtype=np.int64)
    last = np.full(len(values), _BEFORE, dtype=np.int64)
    np.minimum.at(first, rows, ends)
    np.maximum.at(last, rows, begins)
    first[0] = _BEFORE
    by_first = np.full(len(values), -1, dtype=np.int64)
    by_last = np.full(len(values), -1, dtype=np.int64)
    at = np.flatnonzero(ends == first[rows])
    by_first[rows[at]] = at
    by_first[0] = -1
    at = np.flatnonzero(begins == last[rows])
    by_last[rows[at]] = at
    return Zones(values, first, last, by_first, by_last)


def _overlap(judged: Sequence[Operation], zones: Zones) -> Conflict | None:
    """Two values that must both be there at one time."""
    forward = np.flatnonzero(zones.first < zones.last)
    order = forward[np.argsort(zones.first[forward], kind="stable")]
    # All before may reach further than the neighbour does: the running maximum knows.
    reach = np.maximum.accumulate(zones.last[order])
    clash = np.flatnonzero(zones.first[order][1:] < reach[:-1])
    if not len(clash):
        return None
    second = int(order[clash[0] + 1])
    earlier = order[: clash[0] + 1]
    one = int(earlier[np.argmax(zones.last[earlier])])
    return _clash(judged, zones, one, second)


def _inside(judged: Sequence[Operation], zones: Zones) -> Conflict | None:
    """A value all of whose operations fall where another must be."""
    forward = np.flatnonzero(zones.first < zones.last)
    backward = np.flatnonzero((zones.first >= zones.last) & (zones.first < _EVER))
    if not len(forward) or not len(backward):
        return None
    order = forward[np.argsort(zones.first[forward], kind="stable")]
    # The one that begins last before the backward zone does; forward zones do not overlap here.
    at = np.searchsorted(zones.first[order], zones.last[backward], side="left") - 1
    holder = order[np.maximum(at, 0)]
    inside = np.flatnonzero((at >= 0) & (zones.first[backward] < zones.last[holder]))
    if not len(inside):
        return None
    return _clash(judged, zones, int(holder[inside[0]]), int(backward[inside[0]]))


def _clash(judged: Sequence[Operation], zones: Zones, one: int, two: int) -> Conflict:
    """Two values, of which each would have to come before the other.

    An operation of the one was invoked after an operation of the other had completed, and the other
    way round. Named are the two that end latest; the initial value came before every other.
    """
    if two == 0 or (one != 0 and zones.last[one] < zones.last[two]):
        one, two = two, one
    late, seen = int(zones.begins[one]), int(zones.ends[two])
    value, other = shown(zones.values[one]), shown(zones.values[two])
    said = (
        f"{_named(judged[late])} of {value} was invoked after {_named(judged[seen])} of {other} "
        f"had completed, but {value} was there before {other}"
    )
    if one != 0:
        said += (
            f": {_named(judged[int(zones.ends[one])])} of {value} had completed before "
            f"{_named(judged[int(zones.begins[two])])} of {other} was invoked"
        )
    return Conflict((seen, late), "stale-read", said)


def _linearization(judged: Sequence[Operation], rows: Ints, zones: Zones) -> list[int]:
    """Values in an order that their zones allow, each written and then read.

    Each zone stands where it begins: a backward zone that begins in a forward one reaches beyond it
    and comes after it.
    """
    is_forward = zones.first < zones.last
    points = np.where(is_forward, zones.first, zones.last)
    begins = np.array([each.invoked for each in judged], dtype=np.int64)
    is_read = np.array([each.f != "write" for each in judged], dtype=bool)
    # Nobody saw it, and nobody was told that it was written.
    taken = np.flatnonzero(zones.first[rows] < _EVER)
    key = rows[taken]
    order = np.lexsort((begins[taken], is_read[taken], key, is_forward[key], points[key], key != 0))
    return [int(at) for at in taken[order]]
