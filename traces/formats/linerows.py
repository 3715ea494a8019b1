"""JSON lines of a partition's log, and of consumer groups' members, straight to columns.

`rows_of` reads what most histories are made of: events with a number or a string for a value, that
belong together in the usual way. It decodes lines, and then the values of each verb, all at once;
what belongs together is found by sorting. Whatever else a file may have, it leaves alone (None):
events.py and workloads.py read that, and say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kraftcheck.osutil.files import read_bytes
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.events import TYPES, Event, Fields, annotations_of
from kraftcheck.traces.formats.text import DIGITS_MAX, TIMES, TOKEN_MAX, refuse_dense, shown
from kraftcheck.traces.history import CALLBACKS, MEMBER_OPERATIONS, HistoryError
from kraftcheck.traces.rows import NEVER, NULL, OFFSETS, Ints, Rows, Words, coded, numbered
from kraftcheck.traces.values import name

Flags = NDArray[np.bool_]
Raw = msgspec.Raw

KINDS: Final = {each: number for number, each in enumerate(TYPES)}
OUTCOMES: Final = tuple(TYPES.values())
OWN: Final = ("assign", "subscribe", *CALLBACKS)
"""Verbs of consumers that name topic-partitions."""
ENDS: Final = ("latest", "earliest")
_VERBS: Final = {"send": "append", "poll": "fetch"}
PIECE: Final = 1 << 20
NOTHING: Final = msgspec.Raw()


class Line(msgspec.Struct, gc=False):
    """An event as it is written; what is not told is empty."""

    process: int | str
    type: Literal["invoke", "ok", "fail", "info"]
    f: str
    value: Raw = NOTHING
    time: int | None = None
    index: int | None = None
    error: Raw = NOTHING
    froms: Raw = msgspec.field(default=NOTHING, name="from")
    ends: Raw = NOTHING
    to: Raw = NOTHING
    txn: Raw = NOTHING
    isolation: Literal["read_uncommitted", "read_committed"] | None = None
    mark: str | None = None
    rewinds: Raw = msgspec.field(default=NOTHING, name="seek-to-beginning?")


_LINES: Final = msgspec.json.Decoder(Line)
Value = int | str
_SENT: Final = msgspec.json.Decoder(list[tuple[tuple[Literal["send"], str, Value]]])
_ACKED: Final = msgspec.json.Decoder(
    list[tuple[tuple[Literal["send"], str, tuple[int | None, Value] | int | str]]]
)
_POLLS: Final = msgspec.json.Decoder(list[tuple[tuple[Literal["poll"]]]])
_SHOWN: Final = msgspec.json.Decoder(
    list[tuple[tuple[Literal["poll"], dict[str, list[tuple[int, Value]]]]]]
)
_PLACES: Final = msgspec.json.Decoder(list[tuple[dict[str, int | None]]])
_PROGRESS: Final = msgspec.json.Decoder(list[tuple[str, list[tuple[str, int]]]])
_KEYS: Final = msgspec.json.Decoder(list[list[str]])
_OF_GROUP: Final = msgspec.json.Decoder(list[tuple[str, list[str] | None]])
_OF_KEY: Final = msgspec.json.Decoder(list[tuple[str, int | None]])


class Unusual(Exception):
    """These lines tell what only events can be read from."""


def rows_of(path: Path) -> Rows | None:
    """The history in a file, or None: read its events."""
    try:
        data = read_bytes(path)
        refuse_dense(path, data)
        if not data.isascii():
            data.decode()
        return _Reader(str(path), data).rows()
    except (Unusual, HistoryError, msgspec.MsgspecError, pa.ArrowException):
        return None
    except (OSError, UnicodeError, OverflowError, RecursionError):
        return None


def _usual(is_so: object) -> None:
    if not is_so:
        raise Unusual


class _Part(NamedTuple):
    """Rows of one verb: of which call each is, and what its verb tells."""

    call: list[int]
    key: list[str | None]
    group: list[str] | None = None
    offset: list[int] | None = None
    to: list[int] | None = None
    end: list[int] | None = None
    answered: list[int] | None = None
    value: list[Value] | None = None
    shown: list[int] | None = None
    """How many records; missing columns tell nothing."""


class _Reader:
    """begun, ended: of each call in the order of invocation, its lines (NULL: never)."""

    def __init__(self, source: str, data: bytes) -> None:
        _usual(data[:1] == b"{")
        self.source, self.data = source, data
        bytes_of = np.frombuffer(data, np.uint8)
        self.breaks = np.flatnonzero(bytes_of == ord("\n"))
        _refuse_long(bytes_of, self.breaks)
        self.lines: list[Line] = _LINES.decode_lines(data)
        whole = len(self.breaks) + (data[-1:] != b"\n")
        _usual(whole == len(self.lines))
        self.kind = np.array([KINDS[each.type] for each in self.lines], np.int64)
        self.records: tuple[list[int], list[Value]] = ([], [])

    def rows(self) -> Rows:
        lines = self.lines
        client = np.array([type(each.process) is int for each in lines], np.bool_)
        times, unit = _times([each.time for each in lines])
        known = [each.index for each in lines if each.index is not None]
        _usual(all(map(int.__lt__, known, known[1:])))
        _usual(not any(each.txn is not NOTHING and _told(each.txn) for each in lines))
        self._pair(np.flatnonzero(client))
        parts = self._parts()
        call = np.array([each for part in parts for each in part.call], np.int64)
        order = np.argsort(call, kind="stable")
        call = call[order]
        begun, ended = self.begun[call], self.ended[call]
        kind = np.where(ended == NULL, KINDS["info"], self.kind[ended])
        pairs = list(zip(self.begun.tolist(), self.ended.tolist(), strict=True))
        marks, isolations = (self._said(pairs, each) for each in ("mark", "isolation"))
        errors = [_error(bytes(lines[e].error)) if e != NULL else None for _, e in pairs]
        verbs = _taken(coded([_VERBS.get(lines[b].f, lines[b].f) for b, _ in pairs]), call)
        process = np.array([lines[b].process for b, _ in pairs], np.int64)
        keys = coded([each for part in parts for each in part.key])
        _usual(all(name(each) == each and each != "null" for each in keys.names))
        groups = [each for part in parts for each in _of(part.group, part)]
        value, returned = self._values(parts, order)
        nemesis = self._nemesis(np.flatnonzero(~client))
        count = np.maximum(_column(parts, "shown", order), 0)
        return Rows(
            source=self.source,
            format=jsonlines.NAME,
            time_unit=unit,
            annotations=annotations_of(nemesis, times[~client].tolist(), int(times[-1])),
            line=begun + 1,
            number=numbered(call, verbs),
            operation=call,
            txn=np.full(len(call), NULL),
            process=process[call],
            f=verbs,
            outcome=Words(kind - 1, OUTCOMES[1:]),
            invoked=times[begun],
            completed=np.where(ended == NULL, NEVER, times[ended]),
            group=_taken(coded(groups), order),
            key=_taken(keys, order),
            value=value,
            offset=_column(parts, "offset", order),
            to=_column(parts, "to", order),
            end=_column(parts, "end", order),
            isolation=_taken(coded(isolations), call),
            mark=_taken(coded(marks), call),
            error=_taken(coded(errors), call),
            answered=_column(parts, "answered", order) == 1,
            splits=np.concatenate(([0], np.cumsum(count))).astype(np.int64),
            offsets=np.array(self.records[0], np.int64),
            returned=returned,
        )

    # -- Which lines belong together (events.py: record)

    def _pair(self, at: Ints) -> None:
        """By how deep within others each operation of a process is."""
        _usual(len(at))
        verbs = coded([each.f for each in self.lines])
        callback = np.isin(verbs.codes, [n for n, f in enumerate(verbs.names) if f in CALLBACKS])
        member = np.isin(
            verbs.codes, [n for n, f in enumerate(verbs.names) if f in MEMBER_OPERATIONS]
        )
        told = np.array([self.lines[each].process for each in at.tolist()], np.int64)
        process = np.unique(told, return_inverse=True)[1].ravel()
        order = np.argsort(process, kind="stable")
        line, process = at[order], process[order]
        opens = self.kind[line] == KINDS["invoke"]
        step = np.where(opens, 1, -1)
        run = np.cumsum(step)
        first = np.flatnonzero(np.concatenate(([True], process[1:] != process[:-1])))
        before = np.repeat(run[first] - step[first], np.diff(np.append(first, len(line))))
        depth = run - before + ~opens
        _usual((depth >= 1).all())
        # Whoever was left open asks nothing more under its number.
        left = (self.kind[line] == KINDS["info"]) & ~member[line]
        _usual(not (left[:-1] & (process[1:] == process[:-1])).any())
        level = process * (int(depth.max()) + 1) + depth
        deep = np.lexsort((line, level))
        line, level, opens, depth = line[deep], level[deep], opens[deep], depth[deep]
        same = np.concatenate((level[1:] == level[:-1], [False]))
        following = np.concatenate((line[1:], [NULL]))
        _usual((opens[1:] | opens[:-1]).all() and not (same[:-1] & (opens[1:] == opens[:-1])).any())
        ended = np.where(same, following, NULL)[opens]
        begun = line[opens]
        closed = ended != NULL
        _usual((verbs.codes[begun[closed]] == verbs.codes[ended[closed]]).all())
        inner = opens & (depth > 1)
        width = len(self.lines) + 1
        place = np.searchsorted(level * width + line, (level[inner] - 1) * width + line[inner])
        outer = line[place - 1]
        _usual((callback[line[inner]] | callback[outer]).all())
        calls = np.argsort(begun)
        self.begun, self.ended = begun[calls], ended[calls]

    # -- What each verb tells (log_parts.py)

    def _parts(self) -> list[_Part]:
        of: dict[str, list[int]] = {}
        for call, line in enumerate(self.begun.tolist()):
            of.setdefault(self.lines[line].f, []).append(call)
        _usual("send" in of or "poll" in of)
        parts = []
        for f, calls in of.items():
            if f == "send":
                parts.append(self._sends(calls))
            elif f == "poll":
                parts.append(self._polls(calls))
            elif f in OFFSETS:
                parts.append(_progress(calls, self._decoded(_PROGRESS, self.begun, calls)))
            elif f in OWN:
                parts.append(self._of_partitions(f, calls))
            elif f == "leave":
                told = self._decoded(_OF_GROUP, self.begun, calls)
                parts.append(_Part(calls, [None] * len(calls), [group for group, _ in told]))
            elif f == "committed":
                parts.append(self._committed(calls))
            elif f in ENDS:
                parts.append(self._ends(calls))
            else:
                raise Unusual
        return parts

    def _decoded(self, decoder: Any, at: Ints, calls: Sequence[int]) -> list[Any]:
        """The values of the lines that begin, or end, these calls."""
        lines = self.lines
        raws = [lines[line].value for line in at[calls].tolist()]
        found: list[Any] = decoder.decode(b"[" + b",".join(raws) + b"]")
        _usual(len(found) == len(calls))
        return found

    def _answered(self, calls: Sequence[int]) -> tuple[list[int], list[int]]:
        """Give the operations that ended as was asked, and their places.

        How the others ended says nothing that these do not say.
        """
        ended = self.ended[list(calls)]
        kind = np.where(ended == NULL, NULL, self.kind[ended])
        for at in np.flatnonzero((kind != NULL) & (kind != KINDS["ok"])).tolist():
            asked = self.lines[int(self.begun[calls[at]])].value
            _usual(bytes(self.lines[int(ended[at])].value) in (b"", b"null", bytes(asked)))
        where = np.flatnonzero(kind == KINDS["ok"]).tolist()
        return [calls[at] for at in where], where

    def _sends(self, calls: list[int]) -> _Part:
        good, where = self._answered(calls)
        asked = self._decoded(_SENT, self.begun, calls)
        key, value = [each[0][1] for each in asked], [each[0][2] for each in asked]
        offset = [NULL] * len(calls)
        told = self._decoded(_ACKED, self.ended, good)
        for at, ((_, there, said),) in zip(where, told, strict=True):
            if type(said) is tuple:
                place, said = said
                if place is not None:
                    _usual(place >= 0)
                    offset[at] = place
            if there != key[at] or said != value[at]:
                raise Unusual
        # One record acknowledged twice is refused.
        known = [each for each in zip(offset, key, value, strict=True) if each[0] != NULL]
        _usual(len({*known}) == len(known))
        return _Part(calls, key, offset=offset, value=value)

    def _polls(self, calls: list[int]) -> _Part:
        good, _ = self._answered(calls)
        self._decoded(_POLLS, self.begun, calls)
        told = dict(zip(good, self._decoded(_SHOWN, self.ended, good), strict=True))
        said = np.where(self.ended[calls] == NULL, self.begun[calls], self.ended[calls]).tolist()
        froms, ends, tos = (
            _places(calls, [getattr(self.lines[line], each) for line in said])
            for each in ("froms", "ends", "to")
        )
        rows: list[tuple[Any, ...]] = []
        offsets, values = self.records
        for call in calls:
            shown_of = told[call][0][1] if call in told else {}
            where, end, to = froms.get(call, {}), ends.get(call, {}), tos.get(call, {})
            for key in dict.fromkeys((*where, *shown_of, *to)):
                records = shown_of.get(key)
                places = [each.get(key, NULL) for each in (where, to, end)]
                rows.append((call, key, *places, records is not None, len(records or ())))
                if records:
                    offsets += [offset for offset, _ in records]
                    values += [value for _, value in records]
        _usual(min(offsets, default=0) >= 0)
        column = [[row[at] for row in rows] for at in range(7)]
        told_of = dict(zip(("offset", "to", "end", "answered", "shown"), column[2:], strict=True))
        return _Part(column[0], column[1], **told_of)

    def _of_partitions(self, f: str, calls: list[int]) -> _Part:
        """A row for each partition that is named, or one."""
        of_group = f in CALLBACKS
        told = self._decoded(_OF_GROUP if of_group else _KEYS, self.begun, calls)
        answered: list[int] = []
        part = _Part([], [], [] if of_group else None, answered=answered)
        for call, each in zip(calls, told, strict=True):
            keys = each[1] if of_group else each
            _usual(keys is not None)
            rewinds = bytes(self.lines[int(self.begun[call])].rewinds)
            _usual(rewinds in (b"", b"null", b"true", b"false"))
            rows = max(len(keys), 1)
            part.call.extend([call] * rows)
            part.key.extend(keys or [None])
            answered.extend([rewinds == b"true"] * rows)
            if part.group is not None:
                part.group.extend([each[0]] * rows)
        return part

    def _ends(self, calls: list[int]) -> _Part:
        asked = self._decoded(_OF_KEY, self.begun, calls)
        good, where = self._answered(calls)
        ends = [NULL] * len(calls)
        for at, (_, end) in zip(where, self._decoded(_OF_KEY, self.ended, good), strict=True):
            _usual(end is not None and end >= 0)
            ends[at] = end
        return _Part(calls, [key for key, _ in asked], end=ends)

    def _committed(self, calls: list[int]) -> _Part:
        """A row for each offset that was told, or one; that there is none is NULL."""
        asked = self._decoded(_OF_GROUP, self.begun, calls)
        _usual(all(keys is None for _, keys in asked))
        good, _ = self._answered(calls)
        told = dict(zip(good, self._decoded(_PROGRESS, self.ended, good), strict=True))
        pairs = [(told[call][1] if call in told else []) or [(None, NULL)] for call in calls]
        groups = [group for group, _ in asked]
        return _by_offset(calls, [*zip(groups, pairs, strict=True)], NULL)

    # -- The rest

    def _said(self, pairs: Sequence[tuple[int, int]], what: str) -> list[str | None]:
        """What the invocation of each call says, else its completion."""
        of = [getattr(each, what) for each in self.lines]
        return [of[e] if of[b] is None and e != NULL else of[b] for b, e in pairs]

    def _values(self, parts: list[_Part], order: Ints) -> tuple[pa.Array, pa.Array]:
        """What was appended and what was returned, as one type."""
        own = pa.array([each for part in parts for each in _of(part.value, part)])
        returned = pa.array(self.records[1])
        if pa.types.is_null(own.type):
            own = own.cast(returned.type)
        if not len(returned):
            returned = returned.cast(own.type)
        _usual(own.type == returned.type)
        return own.take(pa.array(order)), returned

    def _nemesis(self, at: Ints) -> list[Event]:
        fields = Fields(self.source, colon=False)
        found = []
        for line in at.tolist():
            begin = int(self.breaks[line - 1]) + 1 if line else 0
            end = int(self.breaks[line]) if line < len(self.breaks) else len(self.data)
            form = jsonlines.decoded(self.source, line + 1, self.data[begin:end].decode())
            event = jsonlines.event(fields, self.source, line + 1, form)
            _usual(event.process is None)
            found.append(event)
        return found


def _refuse_long(data: NDArray[np.uint8], breaks: Ints) -> None:
    """Raises Unusual: a line, or a number, may be longer than is read."""
    _usual(np.diff(breaks, prepend=-1, append=len(data)).max() <= TOKEN_MAX)
    for begin in range(0, len(data), PIECE):
        piece = data[max(0, begin - DIGITS_MAX - 1) : begin + PIECE]
        others = np.flatnonzero((piece - ord("0")) > 9)
        _usual(np.diff(others, prepend=-1, append=len(piece)).max() <= DIGITS_MAX)


def _times(told: list[int | None]) -> tuple[Ints, str]:
    """Times that rise with every line (events.py)."""
    if None in told:
        return np.arange(len(told)), "event"
    times = np.array(told, np.int64)
    _usual((times[1:] >= times[:-1]).all())
    at = np.arange(len(times))
    _usual(int(times[0]) in TIMES and int(times[-1]) + len(at) in TIMES)
    return np.maximum.accumulate(times - at) + at, "ns"


def _told(raw: Raw) -> bool:
    return raw is not NOTHING and bytes(raw) != b"null"


@lru_cache(1 << 12)
def _error(raw: bytes) -> str | None:
    said = msgspec.json.decode(raw) if raw else None
    return None if said is None else shown(said, 200)


def _places(calls: list[int], raws: list[Raw]) -> dict[int, dict[str, Any]]:
    """Of the calls that tell any, the offset of each key."""
    pairs = zip(calls, raws, strict=True)
    there = [(call, raw) for call, raw in pairs if raw is not NOTHING and _told(raw)]
    if not there:
        return {}
    found = _PLACES.decode(b"[" + b",".join(raw for _, raw in there) + b"]")
    for (each,) in found:
        for key, offset in each.items():
            if offset is None:
                each[key] = NULL
            else:
                _usual(offset >= 0)
    return {call: each for (call, _), (each,) in zip(there, found, strict=True)}


def _progress(calls: list[int], told: list[Any]) -> _Part:
    """A row for each offset."""
    _usual(all(pairs for _, pairs in told))
    return _by_offset(calls, told, 0)


def _by_offset(calls: list[int], told: list[Any], least: int) -> _Part:
    """A row for each key and its offset, of a group; told: of each call."""
    of = zip(calls, told, strict=True)
    rows = [(call, group, *pair) for call, (group, pairs) in of for pair in pairs]
    _usual(all(offset >= least for *_, offset in rows))
    call, group, key, offset = ([row[at] for row in rows] for at in range(4))
    return _Part(call, key, group, offset)


def _of(column: Sequence[Any] | None, part: _Part) -> Sequence[Any]:
    return column or [None] * len(part.call)


def _column(parts: list[_Part], what: str, order: Ints) -> Ints:
    found = [x for part in parts for x in getattr(part, what) or [NULL] * len(part.call)]
    return np.array(found, np.int64)[order]


def _taken(words: Words, at: Ints) -> Words:
    return Words(words.codes[at], words.names)
