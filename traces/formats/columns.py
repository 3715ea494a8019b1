"""Read and write Parquet with a row for each operation.

Millions of operations are recorded in it, and read from it as columns, without an object for each.

    operation                number of the client's operation, in the order of invocation
    process, f, outcome      as of traces/history.py; a verb is one of VERBS
    invoked, completed       completed: null, if it never was
    group                    of a consumer group's member
    key                      the topic-partition; of a member's operation there is a row for each
                             one that it names, or one row without a key
    value, offset            of an append: what was appended, and where; of a commit, of what was
                             processed, and of what was told as committed (null: nothing): the
                             offset; of a fetch: from where
    offsets, values          of a fetch: lists of what it returned
    to, end, isolation       of a fetch
    mark, error              as of traces/history.py

Numbers are int64, words strings; values are one or the other, all of them. Columns may be missing
where nothing has them. The file's metadata say `time_unit` (ns, us, event), and as JSON the
`annotations`. Times do not go back; transactions, and what asks for the ends of a log, are told in
other formats.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kraftcheck.osutil.files import FILE_MAX
from kraftcheck.traces.formats.text import TIMES, read_file, shown
from kraftcheck.traces.formats.unpacked import refuse_large
from kraftcheck.traces.history import (
    CALLBACKS,
    ISOLATIONS,
    MEMBER_OPERATIONS,
    OK,
    OUTCOMES,
    Annotation,
    History,
    HistoryError,
)
from kraftcheck.traces.rows import (
    NEVER,
    NULL,
    OFFSET_MAX,
    OFFSETS,
    Ints,
    Rows,
    Words,
    begins,
    history_of,
    numbered,
    rows_of as rows_of_operations,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

NAME: Final = "columns"
VERBS: Final = ("append", "fetch", *MEMBER_OPERATIONS, "committed", "subscribe", "crash")
NEEDED: Final = ("operation", "process", "f", "outcome", "invoked")
INTS: Final = ("operation", "process", "invoked", "completed", "offset", "to", "end")
WORDS: Final = ("f", "outcome", "group", "key", "isolation", "mark", "error")
LISTS: Final = ("offsets", "values")
ROWS_MAX: Final = 1 << 25
"""A row takes some 200 bytes, however well the file is packed."""


def claims(names: Sequence[str]) -> bool:
    """Whether columns of these names are operations."""
    return set(NEEDED) <= set(names)


def read(path: Path) -> History:
    """Raises HistoryError: its line is the number of the row, from 1."""
    return history_of(rows_of(path))


# -- Columns


def rows_of(path: Path) -> Rows:
    """Raises HistoryError: as of `read`."""
    # Late: it takes as long to import as a small history in lines takes to judge.
    import pyarrow.parquet as pq

    source = str(path)
    data = read_file(path)
    try:
        _refuse_size(source, pq.read_metadata(pa.BufferReader(data)))
        refuse_large(source, data, pq.read_schema(pa.BufferReader(data)).names)
        table = pq.read_table(pa.BufferReader(data), use_threads=False).combine_chunks()
        table.validate(full=True)
        rows = _rows(source, table)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = shown(" ".join(str(error).split()), 120)
        raise HistoryError(source, 0, f"corrupt Parquet file of {len(data)} bytes: {why}") from None
    _refuse(rows)
    operation = np.cumsum(begins(rows.operation)) - 1
    return rows._replace(operation=operation, number=numbered(rows.operation, rows.f))


def _refuse_size(source: str, told: pq.FileMetaData) -> None:
    """Raises HistoryError: unpacked it would be more than is read."""
    size = sum(told.row_group(at).total_byte_size for at in range(told.num_row_groups))
    if told.num_rows > ROWS_MAX or size > FILE_MAX:
        what = f"{told.num_rows:,} rows of {size:,} bytes: at most {ROWS_MAX:,} and 2 GiB are read"
        raise HistoryError(source, 0, what)


def _rows(source: str, table: pa.Table) -> Rows:
    if absent := [name for name in NEEDED if name not in table.column_names]:
        raise HistoryError(source, 0, f"no column {absent[0]}: these are no operations")
    if not table.num_rows:
        raise HistoryError(source, 0, "empty: a history has at least one operation")
    for name in table.column_names:
        _refuse_type(source, name, table.schema.field(name).type)
    told = table.schema.metadata or {}
    unit = told.get(b"time_unit", b"ns").decode()
    if unit not in ("ns", "us", "event"):
        raise HistoryError(source, 0, f"time_unit is {shown(unit)}, not one of ns, us, event")
    try:
        noted = msgspec.json.decode(told.get(b"annotations", b"[]"), type=tuple[Annotation, ...])
    except msgspec.MsgspecError as error:
        raise HistoryError(source, 0, f"annotations: {shown(str(error), 120)}") from None
    told_of: dict[str, Any] = {name: _ints(source, table, name) for name in INTS}
    told_of |= {name: _words(table, name) for name in WORDS}
    answered, splits, offsets, returned = _returned(source, table)
    value, returned = _values(table, returned)
    return Rows(
        source=source,
        format=NAME,
        time_unit=unit,
        annotations=noted,
        line=np.arange(1, table.num_rows + 1),
        number=told_of["operation"],
        txn=np.full(table.num_rows, NULL),
        value=value,
        answered=answered,
        splits=splits,
        offsets=offsets,
        returned=returned,
        **told_of,
    )


def _refuse_type(source: str, name: str, kind: pa.DataType) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    word = kind in (pa.string(), pa.large_string()) or pa.types.is_null(kind)
    number = kind == pa.int64() or pa.types.is_null(kind)
    inner = kind.value_type if pa.types.is_list(kind) else None
    right = {
        **dict.fromkeys(INTS, number),
        **dict.fromkeys(WORDS, word),
        "value": number or word,
        "offsets": inner == pa.int64() or pa.types.is_null(kind),
        "values": inner in (pa.int64(), pa.string()) or pa.types.is_null(kind),
    }
    if not right.get(name, True):
        raise HistoryError(source, 0, f"column {name} is {shown(str(kind))}")


def _ints(source: str, table: pa.Table, name: str) -> Ints:
    missing = NEVER if name == "completed" else NULL
    if name not in table.column_names:
        return np.full(table.num_rows, missing, np.int64)
    column = _plain(table, name)
    if column.null_count and name in NEEDED:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise HistoryError(source, row + 1, f"no {name}")
    return np.asarray(column.cast(pa.int64()).fill_null(missing).to_numpy(), np.int64)


def _plain(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _words(table: pa.Table, name: str) -> Words:
    if name not in table.column_names:
        return Words(np.full(table.num_rows, NULL, np.int64), ())
    column = _plain(table, name)
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.string()).dictionary_encode()
    codes = column.indices.cast(pa.int64()).fill_null(NULL).to_numpy(zero_copy_only=False)
    return Words(np.asarray(codes, np.int64), tuple(column.dictionary.to_pylist()))


def _returned(source: str, table: pa.Table) -> tuple[NDArray[np.bool_], Ints, Ints, pa.Array]:
    if not {*LISTS} <= {*table.column_names}:
        empty = np.zeros(table.num_rows + 1, np.int64)
        return np.zeros(table.num_rows, np.bool_), empty, empty[:0], pa.array([], pa.int64())
    offsets, values = (_plain(table, name) for name in LISTS)
    lengths = [pc.list_value_length(each).fill_null(0).to_numpy() for each in (offsets, values)]
    if wrong := np.flatnonzero(lengths[0] != lengths[1]).tolist():
        raise HistoryError(source, wrong[0] + 1, "offsets and values differ in number")
    answered = offsets.is_valid().to_numpy(zero_copy_only=False)
    splits = np.concatenate(([0], np.cumsum(lengths[0]))).astype(np.int64)
    flat = [each.flatten() for each in (offsets, values)]
    if any(each.null_count for each in flat):
        raise HistoryError(source, 0, "a record without an offset or a value")
    return answered, splits, np.asarray(flat[0].to_numpy(), np.int64), flat[1]


def _values(table: pa.Table, returned: pa.Array) -> tuple[pa.Array, pa.Array]:
    """What was appended and what was returned, as one type."""
    own = _plain(table, "value") if "value" in table.column_names else pa.nulls(table.num_rows)
    if pa.types.is_dictionary(own.type):
        own = own.cast(own.type.value_type)
    kind = returned.type if pa.types.is_null(own.type) else own.type
    if len(returned) and returned.type != kind:
        raise pa.ArrowInvalid(f"values are {returned.type}, and what was appended is {kind}")
    return own.cast(kind), returned.cast(kind)


# -- What no client can have recorded


def _refuse(rows: Rows) -> None:
    """Raises HistoryError."""
    wrong = _first_wrong(rows)
    if wrong is not None:
        row, what = wrong
        raise HistoryError(rows.source, row + 1, what)


def _first_wrong(rows: Rows) -> tuple[int, str] | None:
    for column, known in ((rows.f, VERBS), (rows.outcome, OUTCOMES), (rows.isolation, ISOLATIONS)):
        for name in column.names:
            if name not in known:
                row = int(np.flatnonzero(column.are(name))[0])
                return row, f"{shown(name)} is none of {', '.join(known)}"
    completed, invoked = rows.completed, rows.invoked
    log = rows.f.are("append") | rows.f.are("fetch")
    bare = log | rows.f.are("subscribe") | rows.f.are("crash")
    answered = rows.outcome.are(OK)
    callback, offsets = rows.f.any_of(CALLBACKS), rows.f.any_of(OFFSETS)
    nothing = rows.value.is_null().to_numpy(zero_copy_only=False)
    first = begins(rows.operation)
    # What a row tells of its operation.
    same = (
        *(rows.process, rows.f.codes, rows.outcome.codes, invoked, completed),
        *(rows.group.codes, rows.mark.codes, rows.isolation.codes),
    )
    back = np.concatenate(([False], invoked[1:] < invoked[:-1]))
    numbers = np.concatenate(([False], rows.operation[1:] < rows.operation[:-1]))
    for flags, what in (
        (rows.f.codes == NULL, "no verb"),
        (rows.outcome.codes == NULL, "no outcome"),
        (back, "time goes back"),
        (numbers, "the number of the operation goes back"),
        (
            (invoked < TIMES.start) | (invoked >= TIMES.stop) | (completed > NEVER),
            f"a time beyond {TIMES.stop - 1}, the farthest that is read",
        ),
        (completed <= invoked, "completed before it was invoked"),
        (answered & (completed == NEVER), "answered, and never completed"),
        (~bare & (rows.group.codes == NULL), "a member's operation without a group"),
        (rows.f.are("append") & nothing, "an append of no value"),
        ((callback | offsets) & (rows.key.codes == NULL), "no key"),
        (offsets & (rows.offset < 0), "no offset"),
        ((rows.offset < NULL) | (rows.to < NULL) | (rows.end < NULL), "an offset below 0"),
        (rows.offset > OFFSET_MAX, f"an offset beyond {OFFSET_MAX}, the last of a log"),
        (~first & begins(*same), "not as the row before, of the same operation"),
    ):
        if flags.any():
            return int(np.flatnonzero(flags)[0]), what
    if (rows.offsets < 0).any():
        at = int(np.flatnonzero(rows.offsets < 0)[0])
        return int(np.searchsorted(rows.splits, at, "right")) - 1, "an offset below 0"
    if int(rows.offsets.max(initial=0)) > OFFSET_MAX:
        at = int(np.argmax(rows.offsets))
        what = f"an offset beyond {OFFSET_MAX}, the last of a log"
        return int(np.searchsorted(rows.splits, at, "right")) - 1, what
    return _open_call(rows, first, callback)


def _open_call(
    rows: Rows, first: NDArray[np.bool_], callback: NDArray[np.bool_]
) -> tuple[int, str] | None:
    """Report a process that asks while another call of its own is open.

    Callbacks may, and calls within them (traces/formats/events.py).
    """
    asks = np.flatnonzero(first & ~callback)
    order = asks[np.argsort(rows.process[asks], kind="stable")]
    one, two = order[:-1], order[1:]
    within = rows.completed[one] > rows.invoked[two]
    for before, row in zip(one[within].tolist(), two[within].tolist(), strict=True):
        if rows.process[before] != rows.process[row]:
            continue
        since = np.flatnonzero(callback[before:row]) + before
        mine = since[rows.process[since] == rows.process[row]]
        member = rows.f.word(before) in MEMBER_OPERATIONS and rows.completed[before] == NEVER
        if not member and not (rows.completed[mine] >= rows.invoked[row]).any():
            what = f"process {rows.process[row]} asks while row {before + 1} is still open"
            return row, what
    return None


# -- Written


def write(history: History) -> bytes:
    """The history as a file. Raises HistoryError: this format has no place for an operation."""
    for each in history.operations:
        if each.f not in VERBS or each.txn is not None or (each.f == "subscribe" and each.result):
            what = f"columns have no place for {each.f} of line {each.line}: convert to jsonlines"
            raise HistoryError(history.source, 0, what)
    rows = rows_of_operations(history)
    meanings = rows.meanings or ()
    kinds = {type(value) for value in meanings}
    if not kinds <= {int} and not kinds <= {str}:
        raise HistoryError(history.source, 0, "columns have values that are all int or all str")
    value = pa.string() if kinds == {str} else pa.int64()
    named = pa.array(meanings, value)
    made: dict[str, pa.Array] = {}
    for name in INTS:
        column = getattr(rows, name)
        made[name] = pa.array(column, mask=column == (NEVER if name == "completed" else NULL))
    for name in WORDS:
        codes, names = getattr(rows, name)
        made[name] = pa.array(names, pa.string()).take(pa.array(codes, mask=codes == NULL))
    own = rows.value.to_numpy()
    made["value"] = named.take(pa.array(own, mask=own == NULL))
    ends = pa.array(rows.splits, pa.int32(), mask=np.append(~rows.answered, False))
    for name, told in zip(LISTS, (pa.array(rows.offsets), named.take(rows.returned)), strict=True):
        made[name] = pa.ListArray.from_arrays(ends, told)
    annotations = msgspec.json.encode(history.annotations).decode()
    noted = {"time_unit": history.time_unit, "annotations": annotations}
    import pyarrow.parquet as pq

    table = pa.table({name: told for name, told in made.items() if told.null_count < len(told)})
    out = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(noted), out, compression="zstd")
    return out.getvalue()
