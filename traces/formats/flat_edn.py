"""Flat lines of EDN as JSON, by passes over bytes.

`as_json` takes what Clojure prints for most operations of a log: maps with ", " between entries,
vectors, keywords, strings without escapes, integers, nil, true and false, each form in one line.
The rest raises Unusual, and edn.py reads it. What JSON has no word for stays apart:

    :word          ":word"     a string that begins with a colon is not taken
    {0 [...]}      {"#0": ...} nor is one that begins with a number sign

Brackets and scalars keep their order, and JSON requires a colon behind each key and nowhere else.
So text that a JSON reader accepts has the structure of the EDN that it was made of.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kraftcheck.traces.rows import Ints

_TOKEN, _SPACE, _BREAK, _OPEN, _CLOSE, _OTHER = range(6)


def _classes() -> NDArray[np.uint8]:
    of = np.full(256, _TOKEN, np.uint8)
    of[128:] = of[:32] = _OTHER
    for text, kind in ((b" ,\t\r", _SPACE), (b"\n", _BREAK), (b"[{", _OPEN), (b"]}", _CLOSE)):
        of[list(text)] = kind
    of[list(b"\\;#()^@`~\x7f")] = _OTHER
    return of


_CLASSES: Final = _classes()
_TAG: Final = b"#jepsen.history.Op{"
"""What newer versions print before each map."""


class Unusual(Exception):
    """Text that only the general reader reads."""


class Lines(NamedTuple):
    """Lines of JSON; further: the entries of each line's inner maps, but for the first of a map."""

    text: bytes
    further: Ints


def as_json(data: bytes) -> Lines:
    """data: whole lines. Raises Unusual."""
    if data.startswith(_TAG):
        data = (b"\n" + data).replace(b"\n" + _TAG, b"\n{")[1:]
    if b"\\" in data or b'":' in data or b'"#' in data:
        raise Unusual
    text = np.frombuffer(data, np.uint8).copy()
    kind = _CLASSES[text]
    quotes = text == ord('"')
    if quotes.any():
        inside = np.logical_xor.accumulate(quotes)
        kind[inside | quotes] = _TOKEN
    else:
        inside = quotes
    if (kind == _OTHER).any():
        raise Unusual
    token = kind == _TOKEN
    before = np.concatenate(([False], token[:-1]))
    starts, ends = np.flatnonzero(token & ~before), np.flatnonzero(before & ~token)
    if len(ends) < len(starts):
        ends = np.append(ends, len(text))
    begin = text[starts]
    _refuse_numbers(text, inside)
    _refuse_words(text, starts, ends, begin)
    # Spaces: where each run of them begins, and what is around it.
    space = kind == _SPACE
    run = np.flatnonzero(space & ~np.concatenate(([False], space[:-1])))
    behind = np.flatnonzero(~space & np.concatenate(([False], space[:-1])))
    run = run[: len(behind)]
    comma = text[run] == ord(",")
    text[space] = ord(" ")
    # Keys: what comes first in a map, or after a comma.
    last = text[np.maximum(starts - 1, 0)]
    key = (last == ord("{")) & (starts > 0)
    after = np.zeros(len(text), np.bool_)
    after[behind] = comma
    key |= after[starts]
    between = (kind[run - 1] == _TOKEN) | (kind[run - 1] == _CLOSE)
    between &= (kind[behind] == _TOKEN) | (kind[behind] == _OPEN)
    between &= run > 0
    run, comma = run[between], comma[between]
    keys = np.flatnonzero(key)
    after = np.zeros(len(text) + 1, np.bool_)
    after[ends[keys]] = True
    colon = after[run] & ~comma
    text[run] = np.where(colon, ord(":"), ord(","))
    after[run[~colon]] = False
    keys = keys[after[ends[keys]]]
    further = _further(text, kind, starts[keys], ends[keys])
    # Quotes around keywords and numbers that are keys; nil takes a letter more.
    word = begin == ord(":")
    number = key & (((begin >= ord("0")) & (begin <= ord("9"))) | (begin == ord("-")))
    nil = starts[begin == ord("n")]
    text[nil + 1] = ord("u")
    quoted = word | number
    at = np.concatenate((starts[quoted], starts[number], ends[quoted], nil + 2))
    put = np.full(len(at), ord('"'), np.uint8)
    first = int(quoted.sum())
    put[first : first + int(number.sum())] = ord("#")
    put[len(put) - len(nil) :] = ord("l")
    return Lines(np.insert(text, at, put).tobytes(), further)


def _refuse_numbers(text: NDArray[np.uint8], inside: NDArray[np.bool_]) -> None:
    """Raises Unusual: there may be a number that is no integer."""
    marks = (text == ord(".")) | (text == ord("e")) | (text == ord("E"))
    at = np.flatnonzero(marks & ~inside)
    digit = text[np.maximum(at - 1, 0)] - ord("0") <= 9
    if (digit & (at > 0)).any():
        raise Unusual


def _refuse_words(
    text: NDArray[np.uint8], starts: Ints, ends: Ints, begin: NDArray[np.uint8]
) -> None:
    """Raises Unusual: a word of JSON that EDN has not, or a colon alone."""
    length = ends - starts
    if (length[begin == ord(":")] < 2).any():
        raise Unusual
    nil = starts[begin == ord("n")]
    if len(nil) and (length[begin == ord("n")] != 3).any():
        raise Unusual
    if (text[nil + 1] != ord("i")).any() or (text[nil + 2] != ord("l")).any():
        raise Unusual


def _further(text: NDArray[np.uint8], kind: NDArray[np.uint8], begin: Ints, end: Ints) -> Ints:
    """Of each line, the entries of inner maps that follow another one. begin, end: of each key.

    Raises Unusual: a line has a key twice.
    """
    breaks = kind == _BREAK
    line = np.cumsum(breaks, dtype=np.int32)[begin]
    steps = (kind == _OPEN).view(np.int8) - (kind == _CLOSE).view(np.int8)
    outer = np.cumsum(steps, dtype=np.int32)[begin] == 1
    of, first, length = line[outer], begin[outer], (end - begin)[outer]
    second = text[np.minimum(first + 2, len(text) - 1)]
    bit = np.int64(1) << key_number(text[first + 1], second, length)
    if len(of):
        at = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
        if (np.add.reduceat(bit, at) != np.bitwise_or.reduceat(bit, at)).any():
            raise Unusual
    more = ~outer & (text[np.maximum(begin - 1, 0)] != ord("{"))
    count: Ints = np.bincount(line[more], minlength=int(breaks.sum()) + 1).astype(np.int64)
    return count


def key_number(first: NDArray[np.uint8], second: NDArray[np.uint8], length: Ints) -> Ints:
    """A number below 56 for a key: of its letters behind the colon; no two of events' have one."""
    letters = first.astype(np.int64) * FACTORS[0] + second.astype(np.int64) * FACTORS[1]
    return (letters + length) % 56


FACTORS: Final = (2, 22)
