"""The metadata log of a real cluster, as `kraftcheck record` writes it: a record to a line.

A record has its place (`offset`), the controller's term (`epoch`) and wall clock (`time`, ms), and
`kind`, `version` and `data` as Kafka's own schema names them. A field that has its default is
missing in `data`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

NAME = "metadata.jsonl"


class ObservedError(Exception):
    """Nothing that can be judged. The text is one line: file, line, reason."""


class Record(msgspec.Struct, frozen=True):
    """One record of the metadata log."""

    offset: int
    epoch: int
    time: int
    kind: str
    version: int
    data: dict[str, Any]
    end: int = -1


def read(path: Path) -> list[Record]:
    """Raises ObservedError: no such file, a line that is no record, offsets that do not grow."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ObservedError(f"{path}: {error.strerror or error}") from None
    decode = msgspec.json.Decoder(Record).decode
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            record = decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ObservedError(f"{path}:{number}: no metadata record: {error}") from None
        if records and record.offset <= records[-1].offset:
            raise ObservedError(f"{path}:{number}: offset {record.offset} is not after the last")
        records.append(record)
    if not records:
        raise ObservedError(f"{path}: empty")
    return records
