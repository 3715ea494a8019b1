"""Which format a file is in, told by what is in it and never by its name.

Every format says of a line whether it could be one of its own. A file is of the one format that
claims any of its first lines; of none, it is no history; of several, whoever knows must say.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from kraftcheck.traces.collection import no_collection
from kraftcheck.traces.formats import (
    clients,
    jepsen,
    jsonlines,
    loglines,
    records,
    verifiable,
)
from kraftcheck.traces.formats.text import HEAD, head_lines, read_head, shown
from kraftcheck.traces.history import History, HistoryError

if TYPE_CHECKING:
    from kraftcheck.traces.rows import Rows


# Late: Arrow and NumPy take longer to import than a small history in lines takes to judge.


def _read_columns(path: Path) -> History:
    from kraftcheck.traces.formats import columns

    return columns.read(path)


def _read_parquet(path: Path) -> History:
    from kraftcheck.traces.formats import parquet

    return parquet.read(path)


COLUMNS, PARQUET = "columns", "parquet"
MAGIC: Final = b"PAR1"

READERS: Final[dict[str, Callable[[Path], History]]] = {
    clients.NAME: clients.read,
    COLUMNS: _read_columns,
    jepsen.NAME: jepsen.read,
    jsonlines.NAME: jsonlines.read,
    jepsen.KNOSSOS: partial(jepsen.read, name=jepsen.KNOSSOS),
    loglines.NAME: loglines.read,
    PARQUET: _read_parquet,
    jepsen.PORCUPINE: partial(jepsen.read, name=jepsen.PORCUPINE),
    records.NAME: records.read,
    verifiable.NAME: verifiable.read,
}
FORMATS: Final = (*READERS, "trace")
"""Every format that is read; `trace` is a folder of Parquet files (traces/formats/trace.py)."""

_LINE_FORMATS: Final = (jsonlines.NAME, jepsen.NAME, jepsen.KNOSSOS)

BINARY: Final = {
    b"JEPSEN": "Jepsen's binary store: export history.edn from it",
    b"\x1f\x8b": "compressed: unpack it first",
    b"PK\x03\x04": "an archive: unpack it first",
}
_LINES: Final = 400
_TRACE: Final = "if it is of a trace, name the trace's folder"


class Unrecognised(HistoryError):
    """A file that is in no format of ours: perhaps no history at all."""


def read(path: Path, format: str = "auto") -> History:
    """The history in a file. Raises HistoryError; Unrecognised if `format` is auto and none fits.

    format: one of READERS, or auto.
    """
    name = detect(path) if format == "auto" else format
    with no_collection():
        return READERS[name](path)


def rows_of(path: Path, name: str) -> Rows | None:
    """The file as columns of operations on partitions' logs; None: it is to be read as operations.

    Raises HistoryError.

    name: of its format.
    """
    if name == COLUMNS:
        from kraftcheck.traces.formats import columns

        with no_collection():
            return columns.rows_of(path)
    if name not in _LINE_FORMATS:
        return None
    head = read_head(path)
    if len(head) < HEAD and b"send" not in head and b"poll" not in head:
        return None  # It is of another model.
    from kraftcheck.traces.formats import linerows

    with no_collection():
        return linerows.rows_of(path, name)


def detect(path: Path) -> str:
    """The name of the file's format. Raises Unrecognised, or HistoryError when several claim it.

    A folder is one of a test (verifiable.py).
    """
    if path.is_dir():
        return verifiable.NAME
    head = read_head(path)
    if not head.strip():
        raise HistoryError(str(path), 0, "empty: a history has at least one operation")
    if head.startswith(MAGIC):
        from kraftcheck.traces.formats import columns, parquet

        names = parquet.names(path)
        if columns.claims(names):
            return columns.NAME
        if names and (missing := next((n for n in parquet.NEEDED if n not in names), None)):
            raise Unrecognised(str(path), 0, f"a Parquet file without a column {missing}: {_TRACE}")
        return parquet.NAME
    for magic, what in BINARY.items():
        if head.startswith(magic):
            raise Unrecognised(str(path), 0, what)
    if verifiable.claims(head):
        return verifiable.NAME
    if clients.claims(head):
        return clients.NAME
    if records.claims(head):
        return records.NAME
    claims = [name for name, claims in _CLAIMS.items() if claims(head)]
    if not claims:
        raise Unrecognised(str(path), *_first_line(head))
    if len(claims) > 1:
        found = " or ".join(claims)
        raise HistoryError(str(path), 0, f"could be {found}: say which with --format")
    return claims[0] if claims[0] != "edn" else _dialect(head)


def _first_line(head: bytes) -> tuple[int, str]:
    """Where a file begins that is in no format, and how."""
    reason = f"in none of the formats {', '.join(FORMATS)}; {records.WAY_OUT}"
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            return number, f"{reason}; it begins with {shown(line.strip(), 30)}"
    return 0, reason


def _log_claims(head: bytes) -> bool:
    return any(map(loglines.OPERATION.search, head_lines(head)[:_LINES]))


def _json_claims(head: bytes) -> bool:
    lines = head_lines(head)[:_LINES]
    if not lines or lines[0][:1] not in "[{":
        return any(_is_json_operation(line) for line in lines)
    return any(_is_json_operation(line.strip("[],")) for line in lines) or (
        lines[0][0] == "[" and _JSON_KEYS.search(head.decode("utf-8", "replace")) is not None
    )


_JSON_KEYS = re.compile(r'"(?:process|type)"\s*:')


def _is_json_operation(line: str) -> bool:
    if line[:1] != "{" or _JSON_KEYS.search(line) is None:
        return False
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError):
        # Cut by the head's end, or damaged; its beginning is JSON all the same.
        return re.match(r'\{\s*"\w+"\s*:', line) is not None
    return isinstance(value, dict) and bool({"process", "type"} & set(value))


# A map, perhaps tagged or in a vector, with one of the keys that make it an operation. Tokens are
# not read here: a file may be damaged and still be of this format.
_EDN_MAP = re.compile(r"^\s*[\[(]*\s*(?:#[\w.]+\s*)?\{\s*:[\w.?!-]+\s")
_EDN_KEYS = re.compile(r":(?:process|type)\s+[:\w-]")


def _edn_claims(head: bytes) -> bool:
    lines = head_lines(head)
    begins = [line for line in lines if not line.startswith((";", "#_"))]
    if not any(_EDN_MAP.match(line) for line in begins[:_LINES]):
        return False
    return _EDN_KEYS.search("\n".join(lines)) is not None


_CLAIMS: Final[dict[str, Callable[[bytes], bool]]] = {
    loglines.NAME: _log_claims,
    jsonlines.NAME: _json_claims,
    "edn": _edn_claims,
}


def _dialect(head: bytes) -> str:
    """Which of the three that write EDN maps: read alike, so a wrong guess costs a name only."""
    text = head.decode("utf-8", "replace")
    if re.search(r":(?:time|index)\s+[0-9]", text):
        return jepsen.NAME
    keyed = re.search(r":f\s+:(?:get|put|append)\s*,?\s+:key\s", text)
    return jepsen.PORCUPINE if keyed else jepsen.KNOSSOS


__all__ = ["FORMATS", "HEAD", "READERS", "Unrecognised", "detect", "read", "shown"]
