"""Made-up histories of partition logs, as columns: for measuring, and for tests of the checker.

Each run has `clients` that work one operation after the other: an operation lasts exponential(1) +
0.05, and after it the client thinks for exponential(0.1), so that about clients - 1 operations are
in flight. Each takes effect at a moment within it, in the order of which offsets are given; so a
history is linearizable by construction. Half are appends, half reads of one record: 30 % at the
end (and find nothing), 50 % within 10 records of it, 20 % anywhere.

`planted` breaks one run in one way; what it returns is no longer linearizable.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    DID,
    FETCH,
    MAY,
    NEVER,
    UNKNOWN,
    Appends,
    Ints,
    LogBatch,
    Reads,
)

FAULTS: Final = ("stale", "swap")
NEAR: Final = 10
TICK: Final = 1_000_000
"""A unit of the generator's time, in the history's."""


class _Table(NamedTuple):
    """All operations of all runs, by (run, moment of effect); shapes (runs, operations)."""

    invoked: Ints
    completed: Ints
    process: Ints
    append: Any
    place: Ints
    """Of an append its offset, of a read where it reads."""
    seen: Ints
    """How many records there were."""


def logs(
    runs: int,
    operations: int,
    clients: int,
    *,
    unknown: float = 0.0,
    ends: bool = False,
    seed: int = 0,
) -> LogBatch:
    """Linearizable histories, a segment for each run.

    unknown: the share of appends without answer, half of which took effect. ends: reads report
    where the log ended.

    Raises ValueError: nothing to do, or a share that is none.
    """
    if min(runs, operations, clients) < 1 or not 0 <= unknown <= 1:
        raise ValueError(f"{runs} runs of {operations} operations of {clients} clients")
    chance = np.random.default_rng(seed)
    table = _worked(chance, runs, operations, clients)
    lost = table.append & (chance.random(table.append.shape) < unknown)
    vanished = lost & (chance.random(table.append.shape) < 0.5)
    table = _numbered(chance, table, vanished)
    return _columns(table, lost, vanished, ends)


def _worked(chance: Any, runs: int, operations: int, clients: int) -> _Table:
    each = -(-operations // clients)
    lasts = chance.exponential(1.0, (runs, clients, each)) + 0.05
    thinks = chance.exponential(0.1, (runs, clients, each))
    ends = np.cumsum(lasts + thinks, axis=2) - thinks
    begins = ends - lasts
    moments = begins + lasts * chance.random(lasts.shape)
    process = np.broadcast_to(np.arange(clients)[:, None], (clients, each))
    shape = (runs, clients * each)
    flat = [each.reshape(shape) for each in (begins, ends, moments)]
    # The last to begin are left out, so that all runs have as many operations as were asked for.
    kept = np.argsort(flat[0], axis=1)[:, :operations]
    begins, ends, moments = (np.take_along_axis(each, kept, 1) for each in flat)
    who = np.take_along_axis(np.broadcast_to(process.reshape(-1), shape), kept, 1)
    order = np.argsort(moments, axis=1)
    begins, ends, who = (np.take_along_axis(each, order, 1) for each in (begins, ends, who))
    append = chance.random((runs, operations)) < 0.5
    invoked, completed = (np.round(each * TICK).astype(np.int64) for each in (begins, ends))
    none = np.zeros((runs, operations), np.int64)
    return _Table(invoked, completed, who.astype(np.int64), append, none, none)


def _numbered(chance: Any, table: _Table, vanished: Any) -> _Table:
    wrote = table.append & ~vanished
    seen = np.cumsum(wrote, axis=1) - wrote
    kind = chance.random(seen.shape)
    near = seen - 1 - chance.integers(0, NEAR, seen.shape)
    anywhere = (chance.random(seen.shape) * seen).astype(np.int64)
    place = np.where(kind < 0.3, seen, np.where(kind < 0.8, np.maximum(near, 0), anywhere))
    return table._replace(place=np.where(table.append, seen, np.minimum(place, seen)), seen=seen)


def _columns(table: _Table, lost: Any, vanished: Any, ends: bool) -> LogBatch:
    runs, operations = table.append.shape
    # Rows stand in order of invocation, as in histories.
    order = np.argsort(table.invoked, axis=1, kind="stable")
    lost, vanished, *columns = (np.take_along_axis(e, order, 1) for e in (lost, vanished, *table))
    table = _Table(*columns)
    index = np.broadcast_to(np.arange(operations), order.shape)
    run = np.broadcast_to(np.arange(runs)[:, None], order.shape)
    # A value is its append's offset; those that vanished have values that no other has.
    value = np.where(vanished, operations + index, table.place)
    a, r = table.append, ~table.append
    missing = lost[a]
    appends = Appends(
        *(run[a], table.process[a], table.invoked[a], np.where(missing, NEVER, table.completed[a])),
        *(value[a], np.where(missing, UNKNOWN, table.place[a])),
        np.where(missing, MAY, DID).astype(np.int8),
        *(index[a], index[a]),
    )
    full = table.place[r] < table.seen[r]
    count = int(r.sum())
    end = table.seen[r] if ends else np.full(count, UNKNOWN, np.int64)
    reads = Reads(
        *(run[r], table.process[r], run[r] * operations + table.process[r]),
        *(table.invoked[r], table.completed[r], np.full(count, FETCH, np.int8)),
        *(table.place[r], end, np.full(count, DID, np.int8)),
        *(index[r], index[r], np.concatenate(([0], np.cumsum(full)))),
        *(table.place[r][full], table.place[r][full]),
    )
    return LogBatch(runs, np.full(runs, operations, np.int64), appends, reads)


# -- Parts


def part(batch: LogBatch, first: int, last: int) -> LogBatch:
    """The segments from `first` to before `last`, numbered from 0; other columns are views."""
    a, r = batch.appends, batch.reads
    low, high = np.searchsorted(a.segment, (first, last))
    since, until = np.searchsorted(r.segment, (first, last))
    begin, end = r.splits[since], r.splits[until]
    told = [r.splits[since : until + 1] - begin, r.offsets[begin:end], r.values[begin:end]]
    reads: list[Any] = [column[since:until] for column in r[1:11]]
    appends: list[Any] = [None if column is None else column[low:high] for column in a[1:]]
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


# -- Faults


def planted(batch: LogBatch, fault: str) -> LogBatch:
    """Each run with one fault in its middle.

    stale: a read of a record that was acknowledged before it began finds nothing. swap: the offsets
    of two appends, one of which was over before the other began, are exchanged. A run without such
    operations stays as it is. Raises ValueError: no such fault.
    """
    if fault not in FAULTS:
        raise ValueError(f"no fault {fault!r}; there are {', '.join(FAULTS)}")
    return _stale(batch) if fault == "stale" else _swapped(batch)


def _stale(batch: LogBatch) -> LogBatch:
    appends, reads = batch.appends, batch.reads
    counts = np.diff(reads.splits)
    rows = np.flatnonzero(counts == 1)
    key = appends.segment * (_width(batch)) + appends.offset
    order = np.argsort(key, kind="stable")
    wanted = reads.segment[rows] * _width(batch) + reads.offsets[reads.splits[rows]]
    at = np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)
    owner = order[at]
    acked = (key[owner] == wanted) & (appends.completed[owner] < reads.invoked[rows])
    chosen = _middle(rows[acked], reads.segment[rows[acked]])
    keep = np.ones(len(reads.offsets), bool)
    keep[reads.splits[chosen]] = False
    counts[chosen] = 0
    splits = np.concatenate(([0], np.cumsum(counts)))
    return batch._replace(
        reads=reads._replace(splits=splits, offsets=reads.offsets[keep], values=reads.values[keep])
    )


def _swapped(batch: LogBatch) -> LogBatch:
    appends, reads = batch.appends, batch.reads
    acked = np.flatnonzero(appends.offset >= 0)
    order = acked[np.lexsort((appends.offset[acked], appends.segment[acked]))]
    first, second = order[:-1], order[1:]
    apart = (appends.segment[first] == appends.segment[second]) & (
        appends.completed[first] < appends.invoked[second]
    )
    chosen = _middle(np.flatnonzero(apart), appends.segment[first[apart]])
    one, other = first[chosen], second[chosen]
    offset, value = appends.offset.copy(), appends.value
    offset[one], offset[other] = appends.offset[other], appends.offset[one]
    # Reads of them tell the same story.
    table = {}
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        segment = int(appends.segment[a])
        table[segment] = (int(value[a]), int(value[b]), int(offset[a]), int(offset[b]))
    values = reads.values.copy()
    counts = np.diff(reads.splits)
    segment_of = np.repeat(reads.segment, counts)
    lookup = np.full((batch.segments, 4), -1, np.int64)
    for segment, row in table.items():
        lookup[segment] = row
    v1, v2, o1, o2 = (lookup[segment_of, at] for at in range(4))
    values = np.where(reads.offsets == o1, v1, np.where(reads.offsets == o2, v2, values))
    return batch._replace(
        appends=appends._replace(offset=offset), reads=reads._replace(values=values)
    )


def _width(batch: LogBatch) -> int:
    tops = (batch.appends.offset.max(initial=0), batch.reads.offsets.max(initial=0))
    return int(max(tops)) + 2


def _middle(rows: Ints, segment: Ints) -> Ints:
    """Of the rows of each segment, the one in the middle."""
    if not len(rows):
        return rows
    starts = np.flatnonzero(np.concatenate(([True], segment[1:] != segment[:-1])))
    ends = np.append(starts[1:], len(rows))
    middle: Ints = rows[(starts + ends) // 2]
    return middle
