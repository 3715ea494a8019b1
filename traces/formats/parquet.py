"""A Parquet file with a row for each event: the columns are the keys of JSON lines.

`process` (null of the nemesis), `time`, `index` and `txn` are integers; `type`, `f`, `error`,
`isolation` and `mark` are strings; `value`, `from`, `to`, `ends` and `key` are JSON as strings,
since no one type holds all of them. Columns may be missing where no operation has them; others are
left alone. Parts of traces are Parquet as well, without these columns.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from kraftcheck.osutil.files import read_bytes
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.events import Event, Fields, record
from kraftcheck.traces.formats.text import read_file, shown
from kraftcheck.traces.formats.unpacked import ROWS, refuse_large
from kraftcheck.traces.formats.workloads import history_of
from kraftcheck.traces.history import History, HistoryError

NAME: Final = "parquet"
NEMESIS: Final = "nemesis"
SEEK: Final = "seek-to-beginning?"
NEEDED: Final = ("process", "type", "f")
COLUMNS: Final = {
    **dict.fromkeys(("index", "time", "process"), pa.int64()),
    **dict.fromkeys(("type", "f"), pa.string()),
    **dict.fromkeys(jsonlines.PARTS, pa.string()),
    "txn": pa.int64(),
    **dict.fromkeys(("isolation", "mark", "error"), pa.string()),
    SEEK: pa.bool_(),
}


def read(path: Path) -> History:
    """Raises HistoryError: its line is the number of the row, from 1."""
    source = str(path)
    data = read_file(path)
    try:
        return history_of(source, NAME, record(source, _events(source, data)))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        why = shown(" ".join(str(error).split()), 120)
        raise HistoryError(source, 0, f"corrupt Parquet file of {len(data)} bytes: {why}") from None


def names(path: Path) -> list[str]:
    """The columns of a file; none, if it is damaged: it is to be read. Raises OSError."""
    import pyarrow.parquet as pq

    try:
        found: list[str] = pq.read_schema(pa.BufferReader(read_bytes(path))).names
    except pa.ArrowException:
        return []
    return found


def _events(path: str, data: bytes) -> Iterator[Event]:
    # Late, as in columns.py.
    import pyarrow.parquet as pq

    schema = pq.read_schema(pa.BufferReader(data))
    names = [name for name in COLUMNS if name in schema.names]
    if absent := [name for name in NEEDED if name not in names]:
        raise HistoryError(path, 0, f"no column {absent[0]}: these are no operations")
    for name in names:
        _refuse_type(path, name, schema.field(name).type)
    refuse_large(path, data, names)
    # As dictionaries: a text that comes often takes its place once, however the file is packed.
    texts = [name for name in names if COLUMNS[name] == pa.string()]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    if not file.metadata.num_rows:
        raise HistoryError(path, 0, "empty: a history has at least one operation")
    fields, row = Fields(path, colon=False), 0
    for batch in file.iter_batches(ROWS, columns=names):
        # Pages may hold names that are no UTF-8; reading checks neither.
        batch.validate(full=True)
        columns = [batch.column(name).to_pylist() for name in names]
        for told in zip(*columns, strict=True):
            row += 1
            form = {name: each for name, each in zip(names, told, strict=True) if each is not None}
            form.setdefault("process", NEMESIS)
            for name in jsonlines.PARTS:
                if name in form:
                    form[name] = jsonlines.decoded(path, row, form[name])
            yield jsonlines.event(fields, path, row, form)


def _refuse_type(path: str, name: str, kind: pa.DataType) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    wanted = COLUMNS[name]
    right = (
        pa.types.is_integer(kind)
        if wanted == pa.int64()
        else kind in (wanted, pa.large_string(), pa.string_view())
        if wanted == pa.string()
        else kind == wanted
    )
    if not right and not pa.types.is_null(kind):
        what = "JSON as a string" if name in jsonlines.PARTS else str(wanted)
        raise HistoryError(path, 0, f"column {name} is {kind}, not {what}")


def write(history: History) -> bytes:
    """The history as a file. Raises HistoryError: JSON would make one value of two."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for told in jsonlines.objects(history):
        form = {**told, "process": None if told["process"] == NEMESIS else told["process"]}
        for name, column in columns.items():
            each = form.get(name)
            is_json = name in jsonlines.PARTS and each is not None
            column.append(msgspec.json.encode(each).decode() if is_json else each)
    kept = {name: told for name, told in columns.items() if any(x is not None for x in told)}
    arrays = {name: pa.array(told, COLUMNS[name]) for name, told in kept.items()}
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(arrays), out, compression="zstd")
    return out.getvalue()
