"""Histories that are in memory: written to a file, which is judged as any other file is.

So events judged in Python and the same events in a file have one verdict. No `recording.json` lies
beside that file: what was promised is what the caller says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, TypeGuard

import msgspec

from kraftcheck.exits import BadInput

PathLike: TypeAlias = str | os.PathLike[str]
Event: TypeAlias = Mapping[str, Any]
"""An event with the keys of JSON lines: process, type, f, value, time (docs/histories.md)."""
Table: TypeAlias = Any
"""A table of pandas, Polars, Arrow or Spark: a row for each event, or for each operation."""

NUMBERS = ("process", "time", "index", "txn")
SHOWN = "events"
"""In place of the file's name."""


def is_path(history: object) -> TypeGuard[PathLike]:
    return isinstance(history, str | os.PathLike)


@contextmanager
def as_file(history: Iterable[Event] | Table) -> Iterator[Path]:
    """The history as a file, for as long as this lasts. Raises BadInput: it is none."""
    from kraftcheck.traces.formats.columns import claims

    with TemporaryDirectory(prefix="kraftcheck-") as folder:
        path = Path(folder) / SHOWN
        table = _as_arrow(history)
        if table is not None and claims(table.column_names):
            import pyarrow.parquet as pq

            pq.write_table(table, path)
        elif table is not None:
            path.write_bytes(b"".join(_lines(_decoded(table.to_pylist()))))
        else:
            path.write_bytes(b"".join(_lines(_records(history))))
        yield path


def _as_arrow(history: Any) -> Any:
    """An Arrow table; None: it is no table, or one of pandas with a row for each event."""
    import pyarrow as pa

    from kraftcheck.traces.formats.columns import INTS, claims

    if isinstance(history, pa.Table):
        return history
    if isinstance(history, pa.RecordBatch):
        return pa.Table.from_batches([history])
    for name in ("toArrow", "to_arrow"):  # of Spark; of Polars
        if callable(method := getattr(history, name, None)):
            return method()
    if _is_pandas(history) and claims([*history.columns]):
        table = pa.Table.from_pandas(history, preserve_index=False)
        # A column of pandas with a hole in it holds floats.
        whole = [
            field.with_type(pa.int64())
            if field.name in (*INTS, "value") and pa.types.is_floating(field.type)
            else field
            for field in table.schema
        ]
        try:
            return table.cast(pa.schema(whole))
        except pa.ArrowInvalid as error:
            raise BadInput(f"a column of whole numbers has others: {error}") from None
    return None


def _is_pandas(history: Any) -> bool:
    return type(history).__module__.partition(".")[0] == "pandas" and hasattr(history, "columns")


def _records(history: Any) -> Iterable[Event]:
    if _is_pandas(history):
        return _decoded(history.to_dict("records"))
    if isinstance(history, Mapping) or not isinstance(history, Iterable):
        kind = type(history).__name__
        raise BadInput(f"a history is a path, events or a table of events, not {kind}")
    return history


def _decoded(rows: Sequence[dict[str, Any]]) -> Sequence[Event]:
    """The rows of a table as events. A column of strings is JSON where each of them is JSON."""
    from kraftcheck.traces.formats.jsonlines import PARTS

    for name in PARTS:
        texts = [row[name] for row in rows if not _is_missing(row.get(name))]
        if not all(isinstance(text, str) for text in texts):
            continue
        try:
            values = iter([msgspec.json.decode(text) for text in texts])
        except msgspec.DecodeError:
            continue
        for row in rows:
            if not _is_missing(row.get(name)):
                row[name] = next(values)
    return rows


def _lines(events: Iterable[Event]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder(enc_hook=_plain).encode
    for number, event in enumerate(events, 1):
        if not isinstance(event, Mapping):
            raise BadInput(f"event {number} is no dict, but {type(event).__name__}")
        told = {name: value for name, value in event.items() if not _is_missing(value)}
        told.setdefault("process", "nemesis")
        for name in NUMBERS:
            # A column of pandas with a hole in it holds floats.
            if isinstance(value := told.get(name), float) and value.is_integer():
                told[name] = int(value)
        try:
            yield encode(told) + b"\n"
        except (TypeError, ValueError, msgspec.MsgspecError) as error:
            raise BadInput(f"event {number}: {error}") from None


def _is_missing(value: object) -> bool:
    """What a table has in place of nothing."""
    return value is None or value != value


def _plain(value: Any) -> Any:
    """A number or an array of NumPy."""
    if callable(method := getattr(value, "tolist", None)):
        return method()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")
