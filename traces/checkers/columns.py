"""Histories of partition logs as columns: what the columnar checker reads.

A `LogBatch` holds any number of partitions of any number of runs. Each is a *segment*, numbered
from 0; all rows of a segment stand together, in the order of segments. Every column is a NumPy
array of int64 (outcomes and kinds: int8), so that one call of the checker judges thousands of runs
without a loop over them.

Appends and reads are two tables. A fetch returns a list: `offsets` and `values` hold the records
of all reads one after the other, and those of read r are `splits[r]` to `splits[r + 1]`.

What is not known is UNKNOWN (-1) for an offset and NEVER for a completion. Values are numbers;
`LogBatch.values`, where there is one, says what each number stands for.

docs/reference/log-checker.md says what is made of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kraftcheck.reference.clients.promises import Compaction
from kraftcheck.traces.checkers.compaction import Keys, keys_of
from kraftcheck.traces.history import (
    CALLBACKS,
    FAIL,
    INDETERMINATE,
    LOG_OPERATIONS,
    OK,
    READ_UNCOMMITTED,
    History,
    Operation,
)
from kraftcheck.traces.rows import (
    NEVER as NEVER,
    NULL,
    OFFSET_MAX as OFFSET_MAX,
    Ints as Ints,
    Rows,
    Words,
    begins,
    places_of,
    rows_of,
    taken,
)

Codes = NDArray[np.int8]
Flags = NDArray[np.bool_]

BATCH_MAX: Final = 1 << 17
"""Operations that are judged at once, where they are of several partitions: memory follows it."""
UNKNOWN: Final = -1
BY_MARK: Final = -1
CODES: Final = {OK: 0, FAIL: 1, INDETERMINATE: 2}
DID: Final = 0
FAILED: Final = 1
MAY: Final = 2
FETCH: Final = 0
LATEST: Final = 1
EARLIEST: Final = 2


class Appends(NamedTuple):
    """A row for each append.

    invoked, completed: in the history's unit (NEVER: no answer).
    """

    segment: Ints
    process: Ints
    invoked: Ints
    completed: Ints
    value: Ints
    offset: Ints
    """That was acknowledged, else UNKNOWN."""
    outcome: Codes
    operation: Ints
    """Its `index` in the history."""
    group: Ints
    """The client's operation that it is a part of (negative: alone)."""
    producer: Ints | None = None
    """Whose appends keep their order: what a mark says, else the process, from BY_MARK down and
    from 0 up. None: no append has a mark.
    """


class Reads(NamedTuple):
    """A row for each fetch, latest and earliest that said something."""

    segment: Ints
    process: Ints
    session: Ints
    """Of one process, the reads between two resets of its position (another assignment, a seek); a
    number of its own in the batch.
    """
    invoked: Ints
    completed: Ints
    kind: Codes
    start: Ints
    """From which offset a fetch asked."""
    end: Ints
    """The visible end that was told (fetch, latest), or the log's start (earliest)."""
    outcome: Codes
    operation: Ints
    group: Ints
    splits: Ints
    offsets: Ints
    values: Ints
    to: Ints | None = None
    """Where a fetch left its consumer, which then was shown all that it may see before that;
    UNKNOWN, if it did not say. None: no fetch said.
    """


class LogBatch(NamedTuple):
    """Partitions to be judged."""

    segments: int
    operations: Ints
    """How many each had, those that say nothing included."""
    appends: Appends
    reads: Reads
    labels: tuple[str | None, ...] = ()
    """Of each segment, its topic-partition."""
    values: Sequence[Any] = ()
    """What the numbers in the columns of values stand for."""
    compacted: bool = False
    """Whether records may be gone that others replaced (compaction.py)."""
    keys: Keys | None = None
    """By which keys, if it is known."""

    def label(self, segment: int) -> str | None:
        return self.labels[segment] if self.labels else None

    def value(self, number: int) -> Any:
        told = self.values[number] if len(self.values) else int(number)
        return told.as_py() if isinstance(told, pa.Scalar) else told


def check_batch(batch: LogBatch) -> None:
    """Raises ValueError: no segment, columns of unequal length, rows out of order, bad splits."""
    if batch.segments < 1 or len(batch.operations) != batch.segments:
        raise ValueError("a batch without partitions, or with operations of others")
    appends, reads = batch.appends, batch.reads
    for name, columns in (("appends", appends[:9]), ("reads", reads[:11])):
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
    for more, rows in ((reads.to, reads.segment), (appends.producer, appends.segment)):
        if more is not None and len(more) != len(rows):
            raise ValueError("columns of appends or reads differ in length")
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


# -- From operations


def from_history(history: History | Rows, compaction: Compaction = "none") -> LogBatch:
    """Return a segment for each topic-partition of a history, in order of first appearance.

    Fetches of uncommitted records are left out.

    Args:
        history: what the clients requested and received.
        compaction: of the topics.

    Raises:
        ValueError: there is no operation on a log, an offset is impossible, or a value lacks the
            key that the compaction needs.
    """
    batch = _batch_of(rows_of(history))
    return batch if compaction == "none" else compacted(batch, keyed=compaction == "keyed")


def batches_of(rows: Rows, compaction: Compaction = "none") -> Iterator[LogBatch]:
    """As `from_history`, in batches of at most BATCH_MAX operations, or of one partition."""
    of_logs = rows.f.any_of(LOG_OPERATIONS)
    at = indices(of_logs)
    if len(at) <= BATCH_MAX:
        yield from_history(rows, compaction)
        return
    keys, first, counts = np.unique(rows.key.codes[at], return_index=True, return_counts=True)
    order = np.argsort(first)
    begin = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or int(counts[order[begin : end + 1]].sum()) > BATCH_MAX:
            # All rows that reset a consumer's position stay.
            mine = ~of_logs | np.isin(rows.key.codes, keys[order[begin:end]])
            yield from_history(taken(rows, indices(mine)), compaction)
            begin = end


def compacted(batch: LogBatch, *, keyed: bool) -> LogBatch:
    """The same, of topics that are compacted. keyed: each value is a pair (key, value).

    Raises ValueError: a value that is none.
    """
    keys = keys_of([batch.value(each) for each in range(len(batch.values))]) if keyed else None
    return batch._replace(compacted=True, keys=keys)


def outcomes(rows: Rows) -> Codes:
    """Of each row, one of CODES."""
    of = np.array([CODES[name] for name in rows.outcome.names], np.int8)
    return of[rows.outcome.codes]


def ends_of(rows: Rows) -> Ints:
    """When each row was over; what is indeterminate never is."""
    return np.where(outcomes(rows) == MAY, NEVER, rows.completed)


def starts_told(rows: Rows) -> dict[str | None, int]:
    """The largest start of each log that a client was told."""
    found: dict[str | None, int] = {}
    for row in indices(rows.f.are("earliest") & (rows.end != NULL)).tolist():
        key = rows.key.word(row)
        found[key] = max(found.get(key, 0), int(rows.end[row]))
    return found


def _batch_of(rows: Rows) -> LogBatch:
    at = indices(rows.f.any_of(LOG_OPERATIONS))
    if not len(at):
        raise ValueError("no operation on a log in the history")
    # In the order in which keys appear, and of each key in the order of rows.
    codes = rows.key.codes[at] + 1
    first = np.full(len(rows.key.names) + 1, len(at))
    first[codes[::-1]] = np.arange(len(at))[::-1]
    keys = np.argsort(first)[: int((first < len(at)).sum())]
    place = np.argsort(np.argsort(first))
    segment = place[codes]
    order = np.argsort(segment, kind="stable")
    at, segment = at[order], segment[order]
    labels = [rows.key.names[key - 1] if key else None for key in keys.tolist()]
    index, group = rows.number, rows.operation
    outcome, ended = outcomes(rows), ends_of(rows)
    is_append = rows.f.are("append")[at]
    a, r = at[is_append], at[~is_append]
    says = rows.answered[r] | (rows.end[r] != UNKNOWN)
    says &= ~rows.isolation.are(READ_UNCOMMITTED)[r]
    session, apart = (each[says] for each in _sessions(rows, r))
    of, r = segment[~is_append][says], r[says]
    told, counts = places_of(rows, r)
    splits = np.concatenate(([0], np.cumsum(counts)))
    # Numbers of values go on from one segment to the next.
    both = pa.concat_arrays([rows.value.take(pa.array(a)), rows.returned.take(pa.array(told))])
    values: Sequence[Any] | None = rows.meanings
    if values is None:
        encoded = both.dictionary_encode()
        both, values = encoded.indices, encoded.dictionary
    value = np.asarray(both.to_numpy(), np.int64)
    known = (outcome[a] == DID) & (rows.offset[a] != UNKNOWN)
    appends = Appends(
        *(segment[is_append], rows.process[a], rows.invoked[a], ended[a], value[: len(a)]),
        *(np.where(known, rows.offset[a], UNKNOWN), outcome[a], index[a], group[a]),
        producer=_producers(rows, a),
    )
    reads = Reads(
        *(of, rows.process[r], session, rows.invoked[r], ended[r]),
        *(_kinds(rows, r), np.where(rows.f.are("fetch")[r], rows.offset[r], UNKNOWN), rows.end[r]),
        *(outcome[r], index[r], group[r], splits, rows.offsets[told], value[len(a) :]),
        to=_stood(rows, r, apart),
    )
    counted = np.bincount(segment, minlength=len(keys)).astype(np.int64)
    return LogBatch(len(keys), counted, appends, reads, tuple(labels), values)


def _producers(rows: Rows, appends: Ints) -> Ints | None:
    marks, process = rows.mark.codes[appends], rows.process[appends]
    if (marks == NULL).all():
        return None
    return np.where(marks == NULL, process - int(process.min()), BY_MARK - marks)


def _kinds(rows: Rows, reads: Ints) -> Codes:
    found = np.full(len(reads), FETCH, np.int8)
    for name, kind in (("latest", LATEST), ("earliest", EARLIEST)):
        found[rows.f.are(name)[reads]] = kind
    return found


def _stood(rows: Rows, reads: Ints, apart: Flags) -> Ints | None:
    """Where fetches left their consumers; None, if none of them says.

    Within a fetch in which a rebalance came (which may be any, where nobody tells of them), that
    may be where it put its consumer.
    """
    if untold(rows):
        return None
    to = np.where(rows.f.are("fetch")[reads] & ~apart, rows.to[reads], UNKNOWN)
    return to if (to != UNKNOWN).any() else None


def untold(rows: Rows) -> bool:
    """Whether consumers subscribe, and tell of no rebalance."""
    return bool(rows.f.are("subscribe").any() and not rows.f.any_of(CALLBACKS).any())


def pairs(processes: Ints, key: Words) -> Ints:
    """A number for each process and key."""
    low = int(processes.min(initial=0))
    of = processes - low
    if int(of.max(initial=0)) > 1 << 20:
        of = np.unique(processes, return_inverse=True)[1]
    numbers: Ints = of * (len(key.names) + 1) + key.codes + 1
    return numbers


def sessions_of(rows: Rows) -> dict[int, int]:
    """Of each fetch (by its index), its session."""
    fetches = indices(rows.f.are("fetch"))
    numbers = _sessions_of_fetches(rows, fetches)[0]
    return dict(zip(rows.number[fetches].tolist(), numbers.tolist(), strict=True))


def _sessions(rows: Rows, reads: Ints) -> tuple[Ints, Flags]:
    """Give the session of each read, and whether a rebalance came within it.

    A reader that asks for an end has its process as its session.
    """
    found, apart = rows.process[reads].copy(), np.zeros(len(reads), bool)
    fetch = rows.f.are("fetch")[reads]
    found[fetch], apart[fetch] = _sessions_of_fetches(rows, reads[fetch])
    return found, apart


def _sessions_of_fetches(rows: Rows, fetches: Ints) -> tuple[Ints, Flags]:
    """Give the session of each fetch of a consumer.

    A consumer keeps its place in the partitions that a new assignment keeps, unless it went back to
    their beginning [jepsen.tests.kafka: the state of poll-skip]. It does not keep it in those that
    a rebalance gave it or took. A fetch that spans a rebalance is a session of its own.
    """
    who = pairs(rows.process, rows.key)
    called = indices(rows.f.any_of(CALLBACKS))
    assigned, others = _resets(rows, who, fetches)
    every = np.concatenate((fetches, called, assigned))
    by = np.concatenate((who[fetches], who[called], others))
    is_reset = np.arange(len(every)) >= len(fetches)
    is_callback = is_reset & (np.arange(len(every)) < len(fetches) + len(called))
    order = np.lexsort((every, by))
    new = begins(by[order])
    numbers = np.cumsum(new | is_reset[order])
    following = np.concatenate((~new[1:] & is_callback[order][1:], [False]))[: len(order)]
    completed = rows.completed[every[order]]
    begun = np.concatenate((rows.invoked[every[order]][1:], [0]))[: len(order)]
    alone = following & ~is_reset[order] & (completed > begun)
    numbers[alone] = int(numbers.max(initial=0)) + 1 + np.arange(int(alone.sum()))
    found, apart = np.empty(len(every), np.int64), np.empty(len(every), bool)
    found[order], apart[order] = numbers, alone
    return found[: len(fetches)], apart[: len(fetches)]


def _resets(rows: Rows, who: Ints, fetches: Ints) -> tuple[Ints, Ints]:
    """List the places that assignments do not keep, each with its row.

    A place is a consumer's in a partition (as `who`). A consumer that is torn down keeps none.
    """
    at = indices(rows.f.any_of(("assign", "subscribe", "crash")))
    if not len(at):
        return at, at
    example = dict(zip(who[fetches].tolist(), fetches.tolist(), strict=True))
    of_process: dict[int, list[int]] = {}
    for pair, row in sorted(example.items()):
        of_process.setdefault(int(rows.process[row]), []).append(pair)
    found: list[tuple[int, int]] = []
    for _, of in groupby(at.tolist(), key=lambda row: int(rows.number[row])):
        row, *more = of
        forgets = rows.f.word(row) == "crash" or rows.answered[row]
        named = [each for each in (row, *more) if rows.key.codes[each] != NULL]
        kept = set() if forgets else {int(who[each]) for each in named}
        mine = of_process.get(int(rows.process[row]), ())
        found += [(row, pair) for pair in mine if pair not in kept]
    rows_of = np.array(found, np.int64).reshape(len(found), 2)
    return rows_of[:, 0], rows_of[:, 1]


# -- Tables of numbers


def answered(each: Operation) -> int:
    """When it was over; one that is indeterminate never is."""
    return NEVER if each.completed is None or each.outcome == INDETERMINATE else each.completed


def flat() -> array[int]:
    """For rows of numbers one after the other: as tuples, what looks for garbage goes over them."""
    return array("q")


def tabled(rows: array[int] | Sequence[Sequence[int]], width: int) -> list[Any]:
    """The columns of rows of so many numbers."""
    table = np.array(rows, np.int64).reshape(-1, width)
    return [np.ascontiguousarray(table[:, at]) for at in range(width)]
