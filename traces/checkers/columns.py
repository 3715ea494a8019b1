"""Histories of partition logs as columns: what the columnar checker reads.

A `LogBatch` holds any number of partitions of any number of runs. Each is a *segment*, numbered
from 0; all rows of a segment stand together, in the order of segments. Every column is a NumPy
array of int64 (outcomes and kinds: int8), so that one call of the checker judges thousands of runs
without a loop over them.

Appends and reads are two tables. A fetch returns a list: `offsets` and `values` hold the records
of all reads one after the other, and those of read r are `splits[r]` to `splits[r + 1]`.

What is not known is UNKNOWN (-1) for an offset and NEVER for a completion. Values are numbers;
`LogBatch.values`, where there is one, says what each number stands for.

docs/log-checker.md says what is made of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kraftcheck.reference.clients.promises import Compaction
from kraftcheck.traces.checkers.compaction import Keys, keys_of
from kraftcheck.traces.history import (
    CALLBACKS,
    FAIL,
    INDETERMINATE,
    LOG_OPERATIONS,
    OK,
    History,
    Operation,
)

Ints = NDArray[np.int64]
Codes = NDArray[np.int8]
Flags = NDArray[np.bool_]

UNKNOWN: Final = -1
NEVER: Final = 1 << 62
OFFSET_MAX: Final = (1 << 63) - 2
"""Behind the last record there is an end, which is an offset of 64 bits as well."""

CODES: Final = {OK: 0, FAIL: 1, INDETERMINATE: 2}
DID: Final = 0
FAILED: Final = 1
MAY: Final = 2
FETCH: Final = 0
LATEST: Final = 1
EARLIEST: Final = 2
RECORD: Final = 2
"""Columns of what a fetch returned: offset and value."""
_KINDS: Final = {"fetch": FETCH, "latest": LATEST, "earliest": EARLIEST}


class Appends(NamedTuple):
    """A row for each append. invoked, completed: in the history's unit (NEVER: no answer).

    offset: that was acknowledged, else UNKNOWN. operation: its `index` in the history.
    group: the client's operation that it is a part of (negative: alone).
    """

    segment: Ints
    process: Ints
    invoked: Ints
    completed: Ints
    value: Ints
    offset: Ints
    outcome: Codes
    operation: Ints
    group: Ints


class Reads(NamedTuple):
    """A row for each fetch, latest and earliest that said something.

    start: from which offset a fetch asked. end: the visible end that was told (fetch, latest), or
    the log's start (earliest). session: of one process, the reads between two resets of its
    position (another assignment, a seek); a number of its own in the batch. to: where a fetch left
    its consumer, which then was shown all that it may see before that; UNKNOWN, if it did not say.
    None: no fetch said.
    """

    segment: Ints
    process: Ints
    session: Ints
    invoked: Ints
    completed: Ints
    kind: Codes
    start: Ints
    end: Ints
    outcome: Codes
    operation: Ints
    group: Ints
    splits: Ints
    offsets: Ints
    values: Ints
    to: Ints | None = None


class LogBatch(NamedTuple):
    """Partitions to be judged.

    operations: how many each had, those that say nothing included. labels: of each segment, its
    topic-partition. values: what the numbers in the columns of values stand for. compacted: whether
    records may be gone that others replaced (compaction.py); keys: by which keys, if it is known.
    """

    segments: int
    operations: Ints
    appends: Appends
    reads: Reads
    labels: tuple[str | None, ...] = ()
    values: tuple[Any, ...] = ()
    compacted: bool = False
    keys: Keys | None = None

    def label(self, segment: int) -> str | None:
        return self.labels[segment] if self.labels else None

    def value(self, number: int) -> Any:
        return self.values[number] if self.values else int(number)


def check_batch(batch: LogBatch) -> None:
    """Raises ValueError: no segment, columns of unequal length, rows out of order, bad splits."""
    if batch.segments < 1 or len(batch.operations) != batch.segments:
        raise ValueError("a batch without partitions, or with operations of others")
    appends, reads = batch.appends, batch.reads
    for name, columns in (("appends", appends), ("reads", reads[:11])):
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"columns of {name} differ in length")
    for segment in (appends.segment, reads.segment):
        if len(segment) and (
            segment[0] < 0 or segment[-1] >= batch.segments or (segment[1:] < segment[:-1]).any()
        ):
            raise ValueError("rows are not in the order of their segments")
    splits = reads.splits
    if len(splits) != len(reads.segment) + 1 or splits[0] or splits[-1] != len(reads.offsets):
        raise ValueError("splits do not cut the records of reads")
    if reads.to is not None and len(reads.to) != len(reads.segment):
        raise ValueError("columns of reads differ in length")
    if (splits[1:] < splits[:-1]).any() or len(reads.offsets) != len(reads.values):
        raise ValueError("splits go back, or offsets and values differ in number")


def indices(flags: Flags) -> Ints:
    """Where flags are set, as np.flatnonzero, whose overhead counts in small batches."""
    return flags.nonzero()[0]


def by_process(segment: Ints, process: Ints, operation: Ints) -> Ints:
    """The rows by segment, process and operation, none of which repeats all three."""
    if not len(segment):
        return np.arange(0)
    low = int(process.min())
    processes, width = int(process.max()) - low + 1, int(operation.max()) + 1
    if (int(segment.max()) + 1) * processes * width >= 1 << 62:
        return np.lexsort((operation, process, segment))
    # One sort of one number instead of three.
    return np.argsort((segment * processes + (process - low)) * width + operation)


# -- Parts


def part(batch: LogBatch, first: int, last: int) -> LogBatch:
    """The segments from `first` to before `last`, numbered from 0; other columns are views."""
    a, r = batch.appends, batch.reads
    low, high = np.searchsorted(a.segment, (first, last))
    since, until = np.searchsorted(r.segment, (first, last))
    begin, end = r.splits[since], r.splits[until]
    told = [r.splits[since : until + 1] - begin, r.offsets[begin:end], r.values[begin:end]]
    reads: list[Any] = [column[since:until] for column in r[1:11]]
    appends: list[Any] = [column[low:high] for column in a[1:]]
    to = None if r.to is None else r.to[since:until]
    return LogBatch(
        last - first,
        batch.operations[first:last],
        Appends._make([a.segment[low:high] - first, *appends]),
        Reads._make([r.segment[since:until] - first, *reads, *told, to]),
        batch.labels[first:last],
        batch.values,
        batch.compacted,
        batch.keys,
    )


# -- From operations


def from_history(
    history: History, key: str | None = None, compaction: Compaction = "none"
) -> LogBatch:
    """A segment for each topic-partition of a history, in order of first appearance; or one, `key`.

    Raises ValueError: no operation on a log (or on that one), an offset that no log can have, or a
    value without a key where the topic is compacted by keys that are told.
    """
    keys = [key] if key is not None else _keys(history.operations)
    if not keys:
        raise ValueError("no operation on a log in the history")
    builder = Builder()
    sessions, apart = sessions_of(history.operations)
    verbs = {each.f for each in history.operations}
    untold = "subscribe" in verbs and verbs.isdisjoint(CALLBACKS)
    by_key: dict[str | None, list[Operation]] = {each: [] for each in keys}
    for operation in history.operations:
        if operation.f in LOG_OPERATIONS and operation.key in by_key:
            by_key[operation.key].append(operation)
    for each in keys:
        if not by_key[each]:
            raise ValueError(f"no operation on {each}")
        builder.add([_unmoved(one, apart, untold) for one in by_key[each]], each, sessions)
    batch = builder.batch()
    if compaction == "none":
        return batch
    return compacted(batch, keyed=compaction == "keyed")


def compacted(batch: LogBatch, *, keyed: bool) -> LogBatch:
    """The same, of topics that are compacted. keyed: each value is a pair (key, value).

    Raises ValueError: a value that is none.
    """
    return batch._replace(compacted=True, keys=keys_of(batch.values) if keyed else None)


def _keys(operations: Sequence[Operation]) -> list[str | None]:
    return list(dict.fromkeys(each.key for each in operations if each.f in LOG_OPERATIONS))


def _unmoved(each: Operation, apart: set[int], untold: bool) -> Operation:
    """A fetch within which a rebalance came may stand where that put its consumer. untold: it may
    have come within any fetch.
    """
    if each.to is None or not (untold or each.index in apart):
        return each
    return msgspec.structs.replace(each, to=None)


def sessions_of(operations: Sequence[Operation]) -> tuple[dict[int, int], set[int]]:
    """Of each fetch (by index), its session; and the fetches within which a rebalance came.

    A consumer keeps its place in the partitions that a new assignment keeps, unless it went back to
    their beginning [jepsen.tests.kafka: the state of poll-skip]; not in those that a rebalance gave
    it or took. A fetch within which one did is a session of its own.
    """
    place: dict[tuple[int, str | None], int] = {}
    lately: dict[tuple[int, str | None], Operation] = {}
    found: dict[int, int] = {}
    apart: set[int] = set()
    fresh = 0
    for operation in operations:
        if operation.f in ("assign", "subscribe", "crash"):
            kept = set(operation.argument or ()) if operation.f != "crash" else set()
            kept = set() if operation.result else {str(each) for each in kept}
            for process, key in list(place):
                if process == operation.process and str(key) not in kept:
                    del place[process, key]
        elif operation.f == "fetch":
            at = (operation.process, operation.key)
            if at not in place:
                place[at], fresh = fresh, fresh + 1
            found[operation.index] = place[at]
            lately[at] = operation
        elif operation.f in CALLBACKS:
            for key in operation.argument[1]:
                at = (operation.process, key)
                place.pop(at, None)
                last = lately.get(at)
                if last is not None and _is_open(last, operation.invoked):
                    found[last.index], fresh = fresh, fresh + 1
                    apart.add(last.index)
    return found, apart


def _is_open(operation: Operation, time: int) -> bool:
    return operation.completed is None or operation.completed > time


class Builder:
    """Collects the operations of partitions, one segment after the other."""

    def __init__(self) -> None:
        self._appends, self._reads, self._records = flat(), flat(), flat()
        self._splits = [0]
        self._to: list[int] = []
        self._operations: list[int] = []
        self._labels: list[str | None] = []
        self._values: dict[Hashable, int] = {}

    def add(
        self,
        operations: Iterable[Operation],
        label: str | None = None,
        sessions: dict[int, int] | None = None,
    ) -> None:
        """A segment with these operations on one log."""
        segment, count = len(self._operations), 0
        for operation in operations:
            count += 1
            if operation.f == "append":
                self._append(segment, operation)
            elif operation.f in _KINDS:
                session = (sessions or {}).get(operation.index, operation.process)
                self._read(segment, operation, session)
            else:
                raise ValueError(f"{operation.f} is no operation on a log")
        self._operations.append(count)
        self._labels.append(label)

    def batch(self) -> LogBatch:
        appends = columns_of(self._appends, 9)
        reads = columns_of(self._reads, 11)
        records = columns_of(self._records, RECORD)
        for columns, at in ((appends, 6), (reads, 5), (reads, 8)):
            columns[at] = columns[at].astype(np.int8)
        splits = np.array(self._splits, np.int64)
        return LogBatch(
            len(self._operations),
            np.array(self._operations, np.int64),
            Appends._make(appends),
            Reads._make([*reads, splits, *records, to_of(np.array(self._to, np.int64))]),
            tuple(self._labels),
            tuple(self._values),
        )

    def _number(self, value: Hashable) -> int:
        return self._values.setdefault(value, len(self._values))

    def _append(self, segment: int, each: Operation) -> None:
        known = each.outcome == OK and each.result is not None
        self._appends.extend(
            (
                segment,
                each.process,
                each.invoked,
                answered(each),
                self._number(each.argument),
                _offset(each, each.result) if known else UNKNOWN,
                CODES[each.outcome],
                each.index,
                each.group,
            )
        )

    def _read(self, segment: int, each: Operation, session: int) -> None:
        if each.result is None and each.end is None:
            return
        records = (each.result or ()) if each.f == "fetch" else ()
        told = each.end if each.f == "fetch" else each.result
        start = each.argument if each.f == "fetch" else None
        self._reads.extend(
            (
                *(segment, each.process, session, each.invoked, answered(each)),
                _KINDS[each.f],
                UNKNOWN if start is None else _offset(each, start),
                UNKNOWN if told is None else _offset(each, told, OFFSET_MAX + 1),
                *(CODES[each.outcome], each.index, each.group),
            )
        )
        for at, value in records:
            self._records.extend((_offset(each, at), self._number(value)))
        self._splits.append(len(self._records) // RECORD)
        self._to.append(
            UNKNOWN
            if each.f != "fetch" or each.to is None
            else _offset(each, each.to, OFFSET_MAX + 1)
        )


def _offset(each: Operation, value: int, most: int = OFFSET_MAX) -> int:
    if not 0 <= value <= most:
        what = f"operation {each.index} ({each.f}) has offset {value}"
        raise ValueError(f"{what}: those of a log are 0 to {most}")
    return int(value)


def to_of(to: Ints) -> Ints | None:
    """Where fetches left their consumers; None, if none of them says."""
    return to if (to != UNKNOWN).any() else None


def answered(each: Operation) -> int:
    """When it was over; one that is indeterminate never is."""
    return NEVER if each.completed is None or each.outcome == INDETERMINATE else each.completed


def flat() -> array[int]:
    """For rows of numbers one after the other: as tuples, what looks for garbage goes over them."""
    return array("q")


def columns_of(rows: array[int], width: int) -> list[Any]:
    """The columns of rows of so many numbers."""
    return _by_column(np.frombuffer(rows, np.int64), width)


def tabled(rows: Sequence[Sequence[int]], width: int) -> list[Any]:
    """The same of rows that are few."""
    return _by_column(np.array(rows, np.int64), width)


def _by_column(numbers: Ints, width: int) -> list[Any]:
    table = numbers.reshape(-1, width)
    return [np.ascontiguousarray(table[:, at]) for at in range(width)]
