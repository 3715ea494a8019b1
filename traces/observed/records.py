"""The metadata log of a real cluster, as `kraftcheck record` writes it: a record to a line.

A record has its place (`offset`), the controller's term (`epoch`) and wall clock (`time`, ms), and
`kind`, `version` and `data` as Kafka's own schema names them. A field that has its default is
missing in `data`.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from kraftcheck.osutil.files import lines, open_file

NAME = "metadata.jsonl"

T = TypeVar("T")


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


def decoded(path: Path, of: type[T], what: str) -> list[T]:
    """The lines of a file of JSON lines.

    Raises ObservedError: no such file, a line that is none; what: that it should have been.
    """
    decode = msgspec.json.Decoder(of).decode
    found: list[T] = []
    try:
        with open_file(path) as file:
            for line in lines(file, path):
                found.append(decode(line))
    except OSError as error:
        raise ObservedError(f"{path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ObservedError(f"{path}:{len(found) + 1}: no {what}: {error}") from None
    return found


def read(path: Path) -> list[Record]:
    """Read the records.

    Raises ObservedError: no such file, a line that is no record, offsets that do not grow, or a log
    that goes on from a snapshot, in which what a step changes is nowhere.
    """
    records = decoded(path, Record, "metadata record")
    for number, (last, record) in enumerate(pairwise(records), 2):
        if record.offset <= last.offset:
            raise ObservedError(f"{path}:{number}: offset {record.offset} is not after the last")
    if not records:
        raise ObservedError(f"{path}: empty")
    if records[0].offset > 0:
        what = f"begins at offset {records[0].offset}, behind a snapshot, which is not here"
        raise ObservedError(f"{path}:1: {what}: record before a controller cleans its log")
    return records
