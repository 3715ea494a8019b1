"""Columns of recorded runs: the client histories of a trace, straight from Arrow.

A part's table `runs` (traces/schema.py) becomes a `LogBatch` with a segment for each run, without a
loop over runs or operations. What traces/formats/trace.py says of such histories holds here as
well, so that both ways give the same columns: a value of 0 is a LeaderChange record, which takes an
offset and was written by no client; an append without an answer has no offset, and one without a
value had not arrived, so that it never had an effect; a fetch tells the end of what it could see.

Judge them with `gaps`: LeaderChange records take offsets that no client has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.traces.checkers.columns import (
    CODES,
    DID,
    EARLIEST,
    FAILED,
    FETCH,
    LATEST,
    MAY,
    NEVER,
    OFFSET_MAX,
    UNKNOWN,
    Appends,
    Flags,
    Ints,
    LogBatch,
    Reads,
    indices,
)
from kraftcheck.traces.rows import places_within
from kraftcheck.traces.schema import OPERATIONS

CONTROL: Final = 0
"""The value of a record that the log itself wrote."""

FETCH_OP: Final = 1
_KINDS: Final = np.array([-1, FETCH, LATEST, EARLIEST], np.int8)
"""By the place of the operation in OPERATIONS, the kind of read that it is."""


def from_arrow(history: pa.ChunkedArray | pa.ListArray) -> LogBatch:
    """A segment for each row of the column `history` of table `runs`, all of one partition.

    Raises ValueError: no rows; an append of several values; an operation or outcome of no known
    name; an answered fetch from nowhere; operations of a run that are not in order.
    """
    lists = _whole(history)
    if not len(lists):
        raise ValueError("no runs")
    counts = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = lists.flatten()
    run = np.repeat(np.arange(len(lists)), counts)
    index = places_within(counts)
    op = _codes(flat.field("op"), OPERATIONS)
    append, fetch = op == 0, op == FETCH_OP
    outcome = _codes(flat.field("outcome"), tuple(CODES))
    offset = _ints(flat.field("offset"), UNKNOWN)
    process = _ints(flat.field("process"), 0)
    invoked = _ints(flat.field("invoked"), 0)
    completed = np.where(outcome == MAY, NEVER, _ints(flat.field("completed"), NEVER))
    values = flat.field("values")
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    told = _ints(values.flatten(), 0)
    begin = np.cumsum(lengths) - lengths
    _check(append, outcome, offset, lengths)
    columns = (run, process, invoked, completed, offset, outcome, index)
    appends = _appends(columns, append, lengths, begin, told)
    seen = _ints(flat.field("end"), UNKNOWN)
    judged = ~append & (outcome == DID)
    kind = _KINDS[op]
    end = np.where(fetch, np.where(seen == UNKNOWN, offset + lengths, seen), offset)
    reads = _reads(
        columns, judged, kind, np.where(fetch, offset, UNKNOWN), end, lengths, begin, told
    )
    return LogBatch(len(lists), counts, appends, reads)


def partitions(history: pa.ChunkedArray | pa.ListArray) -> Iterator[pa.ListArray]:
    """Split the column `history` of table `runs` by the partitions of the runs' topic.

    Each table has a row for each run, with the operations on this partition. There is at least one
    table, even if it is empty.
    """
    lists = _whole(history)
    flat = lists.flatten()
    of = _ints(flat.field("partition"), 0)
    most = int(of.max(initial=0))
    if most == 0:
        yield lists
        return
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    for partition in range(most + 1):
        chosen = of == partition
        before = np.concatenate(([0], np.cumsum(chosen)))[ends]
        offsets = pa.array(before.astype(np.int32))
        yield pa.ListArray.from_arrays(offsets, flat.filter(pa.array(chosen)))


def _whole(column: pa.ChunkedArray | pa.ListArray) -> pa.ListArray:
    """The column in one piece."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def _codes(column: pa.Array, names: Sequence[str]) -> Any:
    if pa.types.is_dictionary(column.type) and len(column):
        # Read from Parquet as it is there, each word once.
        return _codes(column.dictionary, names).take(column.indices.to_numpy())
    found = pc.index_in(column, value_set=pa.array(names)).fill_null(-1)
    codes = found.to_numpy(zero_copy_only=False).astype(np.int8)
    if (codes < 0).any():
        wrong = column[int(np.flatnonzero(codes < 0)[0])].as_py()
        raise ValueError(f"{wrong!r:.40} is none of {', '.join(names)}")
    return codes


def _ints(column: pa.Array, missing: int) -> Ints:
    filled = column.cast(pa.int64()).fill_null(missing) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def _check(append: Flags, outcome: Any, offset: Ints, lengths: Ints) -> None:
    if (append & (lengths > 1)).any():
        raise ValueError("an append of several values")
    if (append & (lengths == 0) & (outcome == DID)).any():
        raise ValueError("an acknowledged append of no value")
    if (~append & (outcome == DID) & (offset < 0)).any():
        raise ValueError("a fetch from nowhere")
    if (offset > OFFSET_MAX + 1 - lengths).any():
        raise ValueError(f"an offset above {OFFSET_MAX}, the last that a log can have")


def _appends(
    columns: tuple[Any, ...], chosen: Flags, lengths: Ints, begin: Ints, told: Ints
) -> Appends:
    rows = indices(chosen)
    run, process, invoked, completed, offset, outcome, index = (each.take(rows) for each in columns)
    lengths, begin = lengths.take(rows), begin.take(rows)
    arrived = lengths > 0
    value = np.full(len(run), CONTROL, np.int64)
    value[arrived] = told.take(begin[arrived])
    outcome = np.where(~arrived & (outcome == MAY), FAILED, outcome).astype(np.int8)
    offset = np.where(outcome == DID, offset, UNKNOWN)
    return Appends(run, process, invoked, completed, value, offset, outcome, index, index)


def _reads(
    columns: tuple[Any, ...],
    judged: Flags,
    kind: Any,
    start: Ints,
    end: Ints,
    lengths: Ints,
    begin: Ints,
    told: Ints,
) -> Reads:
    rows = indices(judged)
    run, process, invoked, completed, offset, outcome, index = (each.take(rows) for each in columns)
    counts, first = lengths.take(rows), begin.take(rows)
    # Of each record told, its place in the flat values and in its fetch.
    inside = places_within(counts)
    values = told.take(np.repeat(first, counts) + inside)
    offsets = np.repeat(offset, counts) + inside
    written = values != CONTROL
    kept = np.concatenate(([0], np.cumsum(written)))
    splits = kept[np.concatenate(([0], np.cumsum(counts)))]
    session = run * (int(process.max()) + 1 if len(process) else 1) + process
    return Reads(
        *(run, process, session, invoked, completed),
        *(kind.take(rows), start.take(rows), end.take(rows)),
        *(outcome, index, index, splits, offsets[written], values[written]),
    )
