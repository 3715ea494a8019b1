"""Hold operations on partitions' logs and of consumer groups' members as columns.

There is a row for each operation, and for one of a member a row for each topic-partition that it
names. They mean what history.py says; `rows_of` makes them of operations, and `history_of`
operations of them.

This is the one form in which the checkers of partition logs take a history. Steps of transactions
have a row each that says when they were, and are judged by the operations themselves (`objects`).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kraftcheck.traces.collection import no_collection
from kraftcheck.traces.history import (
    ACKNOWLEDGE,
    ACKNOWLEDGEMENTS,
    CALLBACKS,
    FAIL,
    LOG_OPERATIONS,
    NOT_COMMITTED,
    OK,
    SHARE_OPERATIONS,
    SHARE_POLL,
    Annotation,
    History,
    Operation,
)
from kraftcheck.traces.lean import leave_pandas_out

leave_pandas_out()

OFFSETS: Final = ("processed", "commit-offsets")
"""Verbs of members that name an offset with each partition."""
NULL: Final = -1
"""In the place of a word, or of an offset, that is not told."""
NEVER: Final = 1 << 62
OFFSET_MAX: Final = (1 << 63) - 2
"""Behind the last record there is an end, which is an offset of 64 bits as well."""

Ints = NDArray[np.int64]


class Words(NamedTuple):
    """A column of words: of each row a number (NULL: none), and what they stand for."""

    codes: Ints
    names: tuple[Any, ...]

    def are(self, name: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = self.codes == (
            self.names.index(name) if name in self.names else -2
        )
        return found

    def any_of(self, names: Sequence[str]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.isin(
            self.codes, [self.names.index(name) for name in names if name in self.names]
        )
        return found

    def word(self, row: int) -> Any:
        code = int(self.codes[row])
        return None if code == NULL else self.names[code]


class Rows(NamedTuple):
    """The history as columns.

    value, returned: of one type; numbers in `meanings`, where there are some.
    """

    source: str
    format: str
    time_unit: str
    annotations: tuple[Annotation, ...]
    line: Ints
    """Where in the file each is."""
    number: Ints
    """Of the operation, its `index`."""
    operation: Ints
    """Of the client's."""
    process: Ints
    f: Words
    outcome: Words
    invoked: Ints
    completed: Ints
    """NEVER where it never was."""
    group: Words
    key: Words
    value: pa.Array
    offset: Ints
    to: Ints
    end: Ints
    isolation: Words
    mark: Words
    error: Words
    txn: Ints
    answered: NDArray[np.bool_]
    """Whether it was told any, or none; of an assignment: whether its consumer went back to the
    beginning.
    """
    splits: Ints
    """Of the row at `at`, what it returned is `splits[at]` to `splits[at + 1]` of offsets and
    returned.
    """
    offsets: Ints
    returned: pa.Array
    more: Ints | None = None
    """Beside `offsets`: of a share poll the delivery counts (NULL: not told), of an acknowledgement
    its types, as places in ACKNOWLEDGEMENTS. None: the history has neither.
    """
    meanings: tuple[Any, ...] | None = None
    objects: History | None = None
    """The operations, where they were read as such; they have the lines."""


def columns_at(rows: Rows, at: Ints) -> dict[str, Any]:
    """Of some of the rows all columns, but for what they returned."""
    columns: dict[str, Any] = {
        name: column._replace(codes=column.codes[at]) if isinstance(column, Words) else column[at]
        for name, column in rows._asdict().items()
        if isinstance(column, (Words, np.ndarray)) and name not in ("splits", "offsets", "more")
    }
    return {**columns, "value": rows.value.take(pa.array(at))}


def taken(rows: Rows, at: Ints) -> Rows:
    """Some of the rows."""
    places, counts = places_of(rows, at)
    return rows._replace(
        **columns_at(rows, at),
        splits=np.concatenate(([0], np.cumsum(counts))),
        offsets=rows.offsets[places],
        more=None if rows.more is None else rows.more[places],
        returned=rows.returned.take(pa.array(places)),
    )


def places_of(rows: Rows, at: Ints) -> tuple[Ints, Ints]:
    """Where what these rows returned is in `offsets` and `returned`, and how much it is of each."""
    counts = rows.splits[at + 1] - rows.splits[at]
    return np.repeat(rows.splits[at], counts) + places_within(counts), counts


def places_within(counts: Ints) -> Ints:
    """[2, 0, 3] -> [0, 1, 0, 1, 2]: of each item its place in its list, by the lists' lengths."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def begins(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each row begins a run: it is the first, or a column differs from the row before."""
    found = np.ones(len(columns[0]), np.bool_)
    found[1:] = False
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def coded(words: Iterable[Hashable]) -> Words:
    """Each word as a number."""
    numbers: dict[Any, int] = {}
    codes = [NULL if each is None else numbers.setdefault(each, len(numbers)) for each in words]
    return Words(np.array(codes, np.int64), tuple(numbers))


def rows_of(history: History | Rows) -> Rows:
    """The history as columns. Raises ValueError: an offset that no log can have."""
    if isinstance(history, Rows):
        return history
    with no_collection():
        return _of_operations(history)


def _of_operations(history: History) -> Rows:
    of: list[Operation] = []
    keys: list[str | None] = []
    at: tuple[list[int | None], list[int | None]] = ([], [])
    counts, offsets, returned = [0], list[int | None](), array("q")
    more: array[int] | None = None
    value, numbers = array("q"), dict[Hashable, int]()
    for each in history.operations:
        is_append = each.f == "append"
        number = numbers.setdefault(each.argument, len(numbers)) if is_append else NULL
        if each.f == "fetch" and each.result:
            for place, record in each.result:
                offsets.append(place)
                returned.append(numbers.setdefault(record, len(numbers)))
        elif each.f in SHARE_OPERATIONS:
            more = more or array("q", [NULL] * len(returned))
            polled = each.f == SHARE_POLL
            for place, *record in (each.result or ()) if polled else each.argument[1]:
                offsets.append(place)
                returned.append(numbers.setdefault(record[0], len(numbers)) if polled else NULL)
                count = record[1] if polled else ACKNOWLEDGEMENTS.index(record[0])
                more.extend([NULL] * (len(returned) - len(more) - 1))
                more.append(NULL if count is None else count)
        for key, offset, end in _places(each):
            of.append(each)
            keys.append(key)
            at[0].append(offset)
            at[1].append(end)
            value.append(number)
            counts.append(len(returned))
    splits = np.array(counts, np.int64)

    def reader(record: int) -> Operation:
        return of[int(np.searchsorted(splits, record, "right")) - 1]

    ends = OFFSET_MAX + 1
    same: dict[str, Any] = {
        name: np.array([getattr(each, name) for each in of], np.int64) for name in _SAME
    }
    same |= {name: coded([getattr(each, name) for each in of]) for name in _SAME_WORDS}
    return Rows(
        source=history.source,
        format=history.format,
        time_unit=history.time_unit,
        annotations=history.annotations,
        **same,
        line=np.full(len(of), NULL),
        number=np.array([each.index for each in of], np.int64),
        operation=np.array([each.group for each in of], np.int64),
        completed=np.array([NEVER if e.completed is None else e.completed for e in of], np.int64),
        group=coded([_group(each) for each in of]),
        key=coded(keys),
        value=pa.array(np.array(value, np.int64)),
        offset=_offsets(at[0], of.__getitem__),
        to=_offsets([e.to if e.f == "fetch" else None for e in of], of.__getitem__, ends),
        end=_offsets(at[1], of.__getitem__, ends),
        txn=np.array([NULL if each.txn is None else each.txn for each in of], np.int64),
        answered=np.array([e.f in _ANSWERED and e.result is not None for e in of], np.bool_),
        splits=splits,
        offsets=_offsets(offsets, reader),
        returned=pa.array(np.array(returned, np.int64)),
        more=None
        if more is None
        else np.array(more + array("q", [NULL] * (len(returned) - len(more))), np.int64),
        meanings=tuple(numbers),
        objects=history,
    )


ENDS: Final = ("latest", "earliest")
_ANSWERED: Final = ("fetch", "assign", "subscribe", SHARE_POLL)
_SAME: Final = ("process", "invoked")
_SAME_WORDS: Final = ("f", "outcome", "isolation", "mark", "error")


_Place = tuple[str | None, int | None, int | None]


def _places(each: Operation) -> Sequence[_Place]:
    """Of each row of an operation: key, offset, end."""
    if each.f == "append":
        return ((each.key, each.result if each.outcome == OK else None, None),)
    if each.f == "fetch":
        return ((each.key, each.argument, each.end),)
    if each.f in SHARE_OPERATIONS:
        return ((each.key, None, None),)
    if each.f in ENDS:
        return ((each.key, None, each.result),)
    if each.f in OFFSETS:
        return [(key, offset, None) for key, offset in each.argument[1]]
    if each.f == "committed" and each.result:
        return [(key, None if at == NOT_COMMITTED else at, None) for key, at in each.result]
    keys = each.argument if each.f in ("assign", "subscribe") else ()
    keys = each.argument[1] if each.f in CALLBACKS else keys
    return [(key, None, None) for key in keys or (None,)]


def _group(each: Operation) -> Any:
    if each.f in ("committed", SHARE_POLL):
        return each.argument
    named = (*CALLBACKS, *OFFSETS, "leave", ACKNOWLEDGE)
    return each.argument[0] if each.f in named else None


def _offsets(
    told: Sequence[int | None], of: Callable[[int], Operation], most: int = OFFSET_MAX
) -> Ints:
    """A column of offsets. of: whose each is. Raises ValueError: one that no log can have."""
    known = [value for value in told if value is not None]
    if known and not 0 <= min(known) <= max(known) <= most:
        wrong = next(at for at, v in enumerate(told) if v is not None and not 0 <= v <= most)
        what = f"operation {of(wrong).index} ({of(wrong).f}) has offset {told[wrong]}"
        raise ValueError(f"{what}: those of a log are 0 to {most}")
    return np.array([NULL if value is None else value for value in told], np.int64)


def history_of(rows: Rows, chosen: Ints | None = None) -> History:
    """The same as operations. chosen: only those of these rows, in order; no appends or fetches."""
    if rows.objects is not None:
        if chosen is None:
            return rows.objects
        numbers = frozenset(rows.number[chosen].tolist())
        kept = tuple([each for each in rows.objects.operations if each.index in numbers])
        return msgspec.structs.replace(rows.objects, operations=kept)
    at = range(len(rows.operation)) if chosen is None else chosen.tolist()
    values: tuple[list[Any], list[Any]] = ([], [])
    if chosen is None:
        values = rows.value.to_pylist(), rows.returned.to_pylist()
    operations = []
    for number, of in groupby(at, key=lambda row: int(rows.number[row])):
        [row, *more] = of
        operations.append(_operation(rows, number, [row, *more], values))
    return History(
        source=rows.source,
        format=rows.format,
        time_unit=rows.time_unit,
        operations=tuple(operations),
        annotations=rows.annotations,
        model="partition-log",
    )


def numbered(operation: Ints, f: Words) -> Ints:
    """Of each row, the number of its operation of the contract."""
    new = begins(operation)
    return np.cumsum(new | f.any_of((*LOG_OPERATIONS, *SHARE_OPERATIONS))) - 1


def _operation(
    rows: Rows, index: int, of: list[int], values: tuple[list[Any], list[Any]]
) -> Operation:
    row = of[0]
    f = rows.f.word(row)
    assert f is not None
    completed = int(rows.completed[row])
    told: dict[str, Any] = {}
    if f == "append":
        offset = int(rows.offset[row])
        told = {"argument": values[0][row], "key": rows.key.word(row)}
        told["result"] = None if offset == NULL else offset
    elif f == "fetch":
        begin, end = rows.splits[row], rows.splits[row + 1]
        shown = tuple(zip(rows.offsets[begin:end].tolist(), values[1][begin:end], strict=True))
        told = {"key": rows.key.word(row), "result": shown if rows.answered[row] else None}
        for name, column in (("argument", rows.offset), ("to", rows.to), ("end", rows.end)):
            told[name] = None if column[row] == NULL else int(column[row])
    elif f in SHARE_OPERATIONS:
        assert rows.more is not None
        begin, end = rows.splits[row], rows.splits[row + 1]
        columns = (rows.offsets[begin:end].tolist(), values[1][begin:end])
        further = rows.more[begin:end].tolist()
        group_name = rows.group.word(row)
        told = {"key": rows.key.word(row), "argument": group_name}
        if f == SHARE_POLL:
            counts = [None if each == NULL else each for each in further]
            polled = tuple(zip(*columns, counts, strict=True))
            told["result"] = polled if rows.answered[row] else None
        else:
            kinds = [ACKNOWLEDGEMENTS[each] for each in further]
            told["argument"] = (group_name, tuple(zip(columns[0], kinds, strict=True)))
    elif f in LOG_OPERATIONS:
        end = int(rows.end[row])
        told = {"key": rows.key.word(row), "result": None if end == NULL else end}
    else:
        keys = tuple([rows.key.word(each) for each in of if rows.key.codes[each] != NULL])
        pairs = tuple([(rows.key.word(each), int(rows.offset[each])) for each in of])
        group_name = rows.group.word(row)
        bare = {"subscribe": keys, "assign": keys, "crash": None, "committed": group_name}
        told["argument"] = bare.get(f, (group_name, pairs if f in OFFSETS else keys))
        if f in ("subscribe", "assign"):
            told["result"] = True if rows.answered[row] else None
        if f == "committed" and rows.outcome.word(row) == OK:
            told["result"] = pairs if keys else ()
    return Operation(
        index=index,
        process=int(rows.process[row]),
        f=f,
        invoked=int(rows.invoked[row]),
        completed=None if completed == NEVER else completed,
        outcome=rows.outcome.word(row) or FAIL,
        group=int(rows.operation[row]),
        line=int(rows.line[row]),
        error=rows.error.word(row),
        isolation=rows.isolation.word(row),
        mark=rows.mark.word(row),
        **told,
    )
