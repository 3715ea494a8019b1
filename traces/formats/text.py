"""Files as text, and how large what is in them may be.

The limits are generous for what clients record and far below what would hurt: a longer token or a
deeper nesting is damage, or an attack, and is said to be so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from traces.history import HistoryError

TOKEN_MAX: Final = 1 << 18
"""Characters of one string, number, keyword or symbol."""
DIGITS_MAX: Final = 64
"""Digits of an integer. Python would take 4,300, and needs the square of that in time."""
DEPTH_MAX: Final = 64
"""Collections, tags and discards inside each other."""
HEAD: Final = 1 << 16
"""Bytes from the beginning by which a format is told."""

INT64: Final = range(-(2**63), 2**63)


def read_text(path: Path) -> str:
    """The file as text.

    Raises HistoryError: it cannot be read, is empty, or is not UTF-8.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HistoryError(str(path), 0, error.strerror or str(error)) from None
    if not data.strip():
        raise HistoryError(str(path), 0, "empty: a history has at least one operation")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HistoryError(str(path), line, f"byte {data[error.start]:#04x} is no UTF-8") from None


def read_head(path: Path) -> bytes:
    """The first bytes of a file. Raises HistoryError: it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except OSError as error:
        raise HistoryError(str(path), 0, error.strerror or str(error)) from None


def head_lines(head: bytes) -> list[str]:
    """The whole lines of a file's head (its only line, if that does not end in it)."""
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    lines = text.split("\n")
    if len(head) >= HEAD and len(lines) > 1:
        lines.pop()
    return [line.strip() for line in lines if line.strip()]


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of every line that is not blank.

    Not str.splitlines, which also breaks at characters that may stand inside a value.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip(" \t\r\f\x0b"):
            yield number, stripped


def shown(value: Any, length: int = 60) -> str:
    """A value for an error: its beginning, on one line, printable."""
    text = value if isinstance(value, str) else edn_text(value)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: length + 1])
    return f"{text[:length]}…" if len(text) > length else text


_MANY_DIGITS = re.compile(rf"[0-9]{{{DIGITS_MAX + 1}}}")
_LONG = re.compile(r'"((?:[^"\\]|\\.)*)"|[^\s",:\[\]{}]+', re.S)


def long_token(text: str) -> str | None:
    """What is wrong with the first token of JSON that is too long, or None."""
    if len(text) <= TOKEN_MAX and _MANY_DIGITS.search(text) is None:
        return None
    for match in _LONG.finditer(text):
        length = match.end() - match.start()
        if length - 2 > TOKEN_MAX:
            return too_long(length)
        if match.group(1) is None and length > DIGITS_MAX:
            return f"{shown(match.group())} is longer than {DIGITS_MAX} characters"
    return None


def too_long(length: int) -> str:
    return f"token of {length:,} characters, at most {TOKEN_MAX:,} are read"


_ESCAPES = str.maketrans(
    {chr(code): f"\\u{code:04x}" for code in range(32)}
    | {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
)


def edn_text(value: Any) -> str:
    """A value in EDN. Keywords and symbols (kinds of str) are written as they are."""
    if value is None:
        return "nil"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str) and type(value) is not str:
        return str(value)
    if isinstance(value, str):
        return '"' + value.translate(_ESCAPES) + '"'
    if isinstance(value, tuple | list):
        return "[" + " ".join(map(edn_text, value)) + "]"
    if isinstance(value, frozenset):
        return "#{" + " ".join(sorted(map(edn_text, value))) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{edn_text(k)} {edn_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        special = {"inf": "##Inf", "-inf": "##-Inf", "nan": "##NaN"}
        return special.get(repr(value), repr(value))
    return str(value)
