"""How much a Parquet file is when it is unpacked: of a few thousand bytes there may be billions.

Columns are packed twice: what repeats is told once (runs, dictionaries), and pages are compressed.
So before anything is made of a file, its values are counted as they would stand in plain: 8 bytes
for a number, each text with its own, and at least 16 for a row. A file may be 64 times as large
then; 256 KiB are read however short it is. Nothing of it is unpacked for that but a few thousand
rows at a time, in which each text takes its place once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kraftcheck.traces.history import HistoryError

MULTIPLE: Final = 64
"""Bytes of plain values for a byte of the file (docs/reference/histories.md)."""
ALWAYS: Final = 1 << 18
"""Bytes that are read however short the file is."""
ROWS: Final = 4096
"""Rows in memory at a time."""
NUMBER: Final = 8
ROW: Final = 16


def refuse_large(source: str, data: bytes, names: Sequence[str]) -> None:
    """names: of the columns that are read.

    Raises HistoryError; pa.ArrowException, OSError: the file is damaged.
    """
    # Late, as in columns.py.
    import pyarrow.parquet as pq

    most = max(ALWAYS, MULTIPLE * len(data))
    told = pq.read_metadata(pa.BufferReader(data))
    chunks = [
        told.row_group(group).column(column)
        for group in range(told.num_row_groups)
        for column in range(told.num_columns)
    ]
    read = [each for each in chunks if each.path_in_schema.partition(".")[0] in names]
    # A null is less than a number, and the first of a run is told once.
    size = max(
        ROW * told.num_rows,
        sum(each.total_uncompressed_size for each in read),
        NUMBER * max((each.num_values for each in read), default=0),
    )
    _refuse(source, size, most, len(data))
    texts = [each.path_in_schema for each in read if each.physical_type == "BYTE_ARRAY"]
    file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=list(dict.fromkeys(texts)))
    size = 0
    for batch in file.iter_batches(ROWS, columns=list(names)):
        size += sum(_plain(column) for column in batch.columns)
        _refuse(source, size, most, len(data))


def _refuse(source: str, size: int, most: int, length: int) -> None:
    if size > most:
        what = f"{length:,} bytes that are {size:,} or more when they are unpacked: at most "
        raise HistoryError(source, 0, f"{what}{most:,} are read")


def _plain(column: pa.Array) -> int:
    """The bytes of its values in plain."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        lengths = pc.binary_length(column.dictionary.cast(pa.large_binary()))
        return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return NUMBER * len(column) + _plain(column.flatten())
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind):
        return int(pc.sum(pc.binary_length(column)).as_py() or 0)
    return NUMBER * (len(column) - int(column.null_count))
