"""Damages the text of a file in one of the ways that files come to harm, or are made to.

A pure function of numbers, so that Hypothesis can choose and shrink them, and a seeded generator
can draw a hundred thousand of them.
"""

from __future__ import annotations

from typing import Final

PIECES: Final = (
    *(b"{", b"}", b"[", b"]", b"(", b")", b"#{", b'"', b"\\", b";", b"#_", b"#", b":", b",", b"\n"),
    *(b"nil", b"null", b"true", b"-1", b"1.5", b"1e999", b"##NaN", b"99999999999999999999", b"1/0"),
    *(b":process", b":type", b":ok", b":invoke", b":f", b":time", b":index", b":value", b":info"),
    *(b'"process"', b'"type"', b'"ok"', b'"value"', b"[[0 1]]", b"[:send 0 [0 1]]", b"{0 [[0 1]]}"),
    *(
        b"\x00",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xe2\x80\xa8",
        b"\r",
        b"\t",
        b"\\ud800",
        b"\x1b",
    ),
    *(b"<script>", b"9" * 500, b"[" * 200, b'{"a":' * 200, b"x" * 3000, b"\\" * 99, b"#_" * 99),
)
"""What is put in where something else stood."""
WAYS: Final = 8


def damaged(data: bytes, way: int, where: int, length: int, piece: int) -> bytes:
    """The data with one thing done to it. Every argument may be any number from 0 on."""
    size = max(len(data), 1)
    start = where % size
    end = min(start + length % 64, len(data))
    put = PIECES[piece % len(PIECES)]
    lines = data.split(b"\n")
    line, other = where % len(lines), piece % len(lines)
    kind = way % WAYS
    if kind == 0:
        return data[:start]
    if kind == 1:
        return data[:start] + data[end:]
    if kind == 2:
        return data[:start] + put + data[start:]
    if kind == 3:
        return data[:start] + put + data[end:]
    if kind == 4:
        return data[:start] + data[start:end] * 3 + data[end:]
    if kind == 5:
        return b"\n".join(lines[:line] + lines[line + 1 :])
    if kind == 6:
        lines[line], lines[other] = lines[other], lines[line]
        return b"\n".join(lines)
    return data[:start] + bytes([piece % 256]) + data[start + 1 :]
