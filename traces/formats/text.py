"""Files as text, and how large what is in them may be.

The limits are generous for what clients record and far below what would hurt: a longer token or a
deeper nesting is damage, or an attack, and is said to be so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kraftcheck.osutil.files import LINE_MAX, open_file, read_bytes
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.values import edn_text

TOKEN_MAX: Final = 1 << 18
"""Characters of one string, number, keyword or symbol."""
DIGITS_MAX: Final = 64
"""Digits of an integer. Python would take 4,300, and needs the square of that in time."""
DEPTH_MAX: Final = 64
"""Collections, tags and discards inside each other."""
_DENSEST: Final = (("maps and sets", (b"{",), 16), ("vectors", (b"[", b"("), 5))
"""What takes most memory for its length: a set of one number 500 bytes for 5. A client's operation
has 30 characters for its map, and a record that it read 6 for its vector."""
_FEW: Final = 10_000
"""So many are read however short the file is."""
_PIECE: Final = 1 << 20
HEAD: Final = 1 << 16
"""Bytes from the beginning by which a format is told."""

INT64: Final = range(-(2**63), 2**63)
TIMES: Final = range(-(2**62), 2**62)
"""Times that are read: from there on checkers count those of what never completes. In nanoseconds
since 1970 they end in 2116."""


def read_text(path: Path) -> str:
    """The file as text.

    Raises HistoryError: it cannot be read, is empty, is not UTF-8, or is made of brackets.
    """
    data = read_file(path)
    if not data.strip():
        raise HistoryError(str(path), 0, "empty: a history has at least one operation")
    refuse_dense(path, brackets(data), len(data))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HistoryError(str(path), line, f"byte {data[error.start]:#04x} is no UTF-8") from None


def read_file(path: Path) -> bytes:
    """Raises HistoryError: it cannot be read."""
    try:
        return read_bytes(path)
    except OSError as error:
        raise HistoryError(str(path), 0, error.strerror or str(error)) from None


def brackets(data: bytes) -> list[int]:
    """How many collections of each kind begin in it."""
    return [sum(map(data.count, opening)) for _, opening, _ in _DENSEST]


def refuse_dense(path: Path, counts: list[int], length: int) -> None:
    """Raises HistoryError: the file is made of brackets. counts: of `brackets`."""
    for count, (what, _, share) in zip(counts, _DENSEST, strict=True):
        if count > _FEW + length // share:
            most = f"at most one for {share} is read"
            what = f"{count:,} {what} in {length:,} bytes, {most}"
            raise HistoryError(str(path), 0, what)


def read_head(path: Path) -> bytes:
    """The first bytes of a file. Raises HistoryError: it cannot be read."""
    try:
        with open_file(path) as file:
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


def lines_of(text: str, path: str) -> Iterator[tuple[int, str]]:
    """(number from 1, line without its end) of every line that is not blank.

    Not str.splitlines, which also breaks at characters that may stand inside a value. Raises
    HistoryError: a line is longer than LINE_MAX.
    """
    at, number = 0, 0
    while at <= len(text):
        # A piece at a time: the lines of a whole file take many times its length.
        end = text.find("\n", at + _PIECE)
        end = len(text) if end < 0 else end
        for line in text[at:end].split("\n"):
            number += 1
            if stripped := line.strip(" \t\r\f\x0b"):
                if len(stripped) > LINE_MAX:
                    raise HistoryError(path, number, too_long(len(stripped), "line", LINE_MAX))
                yield number, stripped
        at = end + 1


def shown(value: Any, length: int = 60) -> str:
    """A value for an error: its beginning, on one line, printable."""
    text = value if isinstance(value, str) else edn_text(value)
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: length + 1])
    return f"{text[:length]}…" if len(text) > length else text


_MANY_DIGITS = re.compile(rf"[0-9]{{{DIGITS_MAX + 1}}}")
# Possessive, since a mark for each character to return to takes 140 bytes; and a string that never
# ends is one token, or each quote in it would be looked at to the end of the text.
_LONG = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)(?:"|\\?\Z)|[^\s",:\[\]{}]++', re.S)


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


def too_long(length: int, what: str = "token", most: int = TOKEN_MAX) -> str:
    return f"{what} of {length:,} characters, at most {most:,} are read"
