"""Flat lines of EDN as JSON, by passes over bytes.

`as_json` takes what Clojure prints for most operations of a log: maps, with commas or without,
vectors, keywords, strings without escapes, integers, nil, true and false, each form in one line.
The rest raises Unusual, and edn.py reads it. What JSON has no word for stays apart:

    :word          ":word"     a string that begins with a colon is not taken
    {0 [...]}      {"#0": ...} nor is one that begins with a number sign

Brackets and scalars keep their order, and JSON requires a colon behind each key and nowhere else.
So text that a JSON reader accepts has the structure of the EDN that it was made of.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kraftcheck.traces.rows import Ints, begins

Flags = NDArray[np.bool_]

_TOKEN, _SPACE, _BREAK, _OPEN, _CLOSE, _OTHER = range(6)


def _classes() -> NDArray[np.uint8]:
    of = np.full(256, _TOKEN, np.uint8)
    of[128:] = of[:32] = _OTHER
    for text, kind in ((b" ,\t\r", _SPACE), (b"\n", _BREAK), (b"[{", _OPEN), (b"]}", _CLOSE)):
        of[list(text)] = kind
    of[list(b"\\;#()^@`~\x7f")] = _OTHER
    return of


_KINDS: Final = _classes().tobytes()
_BLANK: Final = bytes.maketrans(b",\t\r", b"   ")
_TAG: Final = b"#jepsen.history.Op{"
"""What newer versions print before each map."""


class Unusual(Exception):
    """Text that only the general reader reads."""


class Lines(NamedTuple):
    """Lines of JSON; further: the entries of each line's inner maps, but for the first of a map."""

    text: bytes
    further: Ints


class Found(NamedTuple):
    """Lines of JSON made by phrases, and how many keys they have: all of them of events."""

    text: bytes
    keys: int

    def further(self) -> Ints:
        """As of Lines."""
        if b',"#' not in self.text:
            return np.empty(0, np.int64)
        return np.array([each.count(b',"#') for each in self.text.split(b"\n")], np.int64)


class Phrases:
    """EDN as JSON by what stood between the numbers of earlier pieces, of which logs have few.

    A phrase is replaced by what `as_json` made of it, wherever it stands. Every letter and sign of
    the text belongs to a keyword or nil of a phrase, since they are counted. Brackets and scalars
    keep their order, so that what was said above of text that a JSON reader accepts holds.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._tries = 8

    def learn(self, data: bytes, text: bytes) -> None:
        """Take the phrases of a piece and of the JSON that as_json made of it."""
        self._tries -= 1
        if self._tries < 0 or b'"' in data:
            return
        data, text = _keyed(data), text.replace(b" ", b"")
        pairs = set(zip(_NUMBERS.split(data), _NUMBERS.split(text), strict=True))
        self._known |= {edn: json for edn, json in pairs if edn.translate(_COMMAS) != json}
        if len(self._known) > _PHRASES or any(map(_unfit, *zip(*self._known.items(), strict=True))):
            self._tries, self._known = 0, {}

    def json(self, data: bytes) -> Found | None:
        """None: some of the text is of no phrase. What is returned may be no JSON."""
        if not self._known:
            return None
        left, keys = _words(data), 0
        data = _keyed(data)
        for edn in sorted(self._known, key=len, reverse=True):
            json = self._known[edn]
            size = len(data)
            data = data.replace(edn, json)
            if words := _words(edn.removesuffix(b'"#').removeprefix(b'":')):
                count = (len(data) - size) // (len(json) - len(edn))
                left -= count * words
                keys += count * (json.count(b":") - edn.count(b":"))
        return None if left else Found(data.translate(_COMMAS), keys)


_PHRASES: Final = 40
_COMMAS: Final = bytes.maketrans(b" ", b",")
_NUMBERS: Final = re.compile(rb"[0-9\n]+")
_KEY: Final = re.compile(rb"\{(-?[0-9]+) ")
_LATER_KEY: Final = re.compile(rb"\]\],? (-?[0-9]+) \[")
_PHRASE: Final = re.compile(
    rb'(?:":)?(?:[ ,\[\]{}-]|(?<=[ ,\[{])(?::[A-Za-z/_.?!*<>=+-]+|nil)(?=[ ,\[\]{}]))*(?:"#)?'
)


def _keyed(data: bytes) -> bytes:
    """EDN in which numbers that are keys are those of JSON."""
    return _LATER_KEY.sub(rb']],"#\1":[', _KEY.sub(rb'{"#\1":', data))


def _words(data: bytes) -> int:
    """How many letters and signs a text has, other than those of numbers, vectors and maps."""
    return len(data.translate(None, b"0123456789 ,[]{}\n-"))


def _unfit(edn: bytes, json: bytes) -> bool:
    """Whether a phrase has more than whole words, or cannot be counted by what it adds."""
    return len(edn) == len(json) or _PHRASE.fullmatch(edn) is None


def as_json(data: bytes) -> Lines:
    """data: whole lines. Raises Unusual."""
    if data.startswith(_TAG):
        data = (b"\n" + data).replace(b"\n" + _TAG, b"\n{")[1:]
    if b"\\" in data or b'":' in data or b'"#' in data:
        raise Unusual
    inside: Flags | None = None
    if b'"' in data:
        text = np.frombuffer(data, np.uint8).copy()
        kind = np.frombuffer(data.translate(_KINDS), np.uint8).copy()
        quotes = text == ord('"')
        inside = np.logical_xor.accumulate(quotes)
        kind[inside | quotes] = _TOKEN
        text[kind == _SPACE] = ord(" ")
    else:
        text = np.frombuffer(data.translate(_BLANK), np.uint8).copy()
        kind = np.frombuffer(data.translate(_KINDS), np.uint8)
    if kind.max() == _OTHER:
        raise Unusual
    _refuse_numbers(text, inside)
    marks = _marks(text, kind)
    token = marks.kind == _TOKEN
    starts, ends, begin = marks.begin[token], marks.end[token], text[marks.begin[token]]
    _refuse_words(text, starts, ends, begin)
    # What stands between two items: a colon behind a key, else a comma.
    run = np.flatnonzero(marks.kind == _SPACE)
    run = run[(run > 0) & (run < len(marks.kind) - 1)]
    before, behind = marks.kind[run - 1], marks.kind[run + 1]
    run = run[((before == _TOKEN) | (before == _CLOSE)) & ((behind == _TOKEN) | (behind == _OPEN))]
    is_value = marks.of_map & (marks.rank & 1 == 1)
    text[marks.begin[run]] = np.where(is_value[run + 1], ord(":"), ord(","))
    is_key = marks.of_map & (marks.rank & 1 == 0)
    further = _further(text, marks, is_key)
    # Quotes around keywords and numbers that are keys; nil takes a letter more.
    number = is_key[token] & (((begin >= ord("0")) & (begin <= ord("9"))) | (begin == ord("-")))
    nil = starts[begin == ord("n")]
    text[nil + 1] = ord("u")
    quoted = (begin == ord(":")) | number
    at = np.concatenate((starts[quoted], starts[number], ends[quoted], nil + 2))
    put = np.full(len(at), ord('"'), np.uint8)
    first = int(quoted.sum())
    put[first : first + int(number.sum())] = ord("#")
    put[len(put) - len(nil) :] = ord("l")
    return Lines(np.insert(text, at, put).tobytes(), further)


class _Marks(NamedTuple):
    """The tokens, brackets, runs of spaces and breaks of a text, in their order.

    depth: how many brackets are open around each. rank: of each token or opening bracket, how many
    siblings stand before it. of_map: whether the bracket around it is that of a map.
    """

    begin: Ints
    end: Ints
    kind: NDArray[np.uint8]
    depth: NDArray[np.int32]
    rank: NDArray[np.int32]
    of_map: Flags


def _marks(text: NDArray[np.uint8], kind: NDArray[np.uint8]) -> _Marks:
    """Raises Unusual: a bracket closes that was not opened."""
    fresh = np.ones(len(kind) + 1, np.bool_)
    np.not_equal(kind[1:], kind[:-1], out=fresh[1:-1])
    fresh[1:-1] |= kind[1:] >= _OPEN
    edges = np.flatnonzero(fresh)
    begin, end = edges[:-1], edges[1:]
    kind = kind[begin]
    opens = kind == _OPEN
    steps = opens.view(np.int8) - (kind == _CLOSE).view(np.int8)
    depth = np.cumsum(steps, dtype=np.int32) - opens
    if depth.min(initial=0) < 0:
        raise Unusual
    rank = np.zeros(len(kind), np.int32)
    of_map = np.zeros(len(kind), np.bool_)
    is_map = text[begin] == ord("{")
    items = np.flatnonzero(opens | (kind == _TOKEN))
    level = depth[items]
    around = np.empty(0, np.int64)
    for each in range(int(level.max(initial=0)) + 1):
        mine = items[level == each]
        if each:
            parent = np.searchsorted(around, mine) - 1
            first = np.flatnonzero(begins(parent))
            count = np.diff(np.append(first, len(mine)))
            rank[mine] = np.arange(len(mine)) - np.repeat(first, count)
            of_map[mine] = is_map[around[parent]]
        around = mine[opens[mine]]
    return _Marks(begin, end, kind, depth, rank, of_map)


def _refuse_numbers(text: NDArray[np.uint8], inside: Flags | None) -> None:
    """Raises Unusual: there may be a number that is no integer."""
    marks = (text == ord(".")) | (text == ord("e")) | (text == ord("E"))
    at = np.flatnonzero(marks if inside is None else marks & ~inside)
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


def _further(text: NDArray[np.uint8], marks: _Marks, is_key: Flags) -> Ints:
    """Of each line, the entries of inner maps that follow another one.

    Raises Unusual: a line has a key twice.
    """
    breaks = np.cumsum(marks.kind == _BREAK, dtype=np.int32)
    outer = is_key & (marks.depth == 1)
    of, first, length = breaks[outer], marks.begin[outer], (marks.end - marks.begin)[outer]
    second = text[np.minimum(first + 2, len(text) - 1)]
    letter = text[np.minimum(first + 1, len(text) - 1)]
    bit = np.int64(1) << key_number(letter, second, length)
    if len(of):
        at = np.flatnonzero(begins(of))
        if (np.add.reduceat(bit, at) != np.bitwise_or.reduceat(bit, at)).any():
            raise Unusual
    more = is_key & (marks.depth > 1) & (marks.rank > 0)
    return np.bincount(breaks[more], minlength=int(breaks[-1]) + 1).astype(np.int64)


def key_number(first: NDArray[np.uint8], second: NDArray[np.uint8], length: Ints) -> Ints:
    """A number below 56 for a key: of its letters behind the colon; no two of events' have one."""
    letters = first.astype(np.int64) * FACTORS[0] + second.astype(np.int64) * FACTORS[1]
    return (letters + length) % 56


FACTORS: Final = (2, 22)
