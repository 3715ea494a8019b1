"""Lines of a partition's log, and of consumer groups' members, straight to columns: JSON and EDN.

`rows_of` reads what most histories are made of: events with a number or a string for a value, that
belong together in the usual way. It decodes a piece of the file at a time, and then the values of
each verb, all at once; what belongs together is found by sorting. Operations that are still open at
the end of a piece are taken into the next. Whatever else a file may have, it leaves alone (None):
events.py and workloads.py read that, and say what is wrong with it.

Lines of EDN become lines of JSON before (flat_edn.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from operator import attrgetter, lt
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kraftcheck.osutil.files import FILE_MAX, named, open_file
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.formats.edn import Keyword, read_forms
from kraftcheck.traces.formats.events import EXTRA, TYPES, Event, Fields, annotations_of, word
from kraftcheck.traces.formats.flat_edn import Phrases, Unusual, as_json
from kraftcheck.traces.formats.keys import NUMBER, MapKey, decided
from kraftcheck.traces.formats.text import (
    DIGITS_MAX,
    TIMES,
    TOKEN_MAX,
    brackets,
    refuse_dense,
    shown,
)
from kraftcheck.traces.history import (
    ACKNOWLEDGE,
    ACKNOWLEDGEMENTS,
    CALLBACKS,
    ISOLATIONS,
    MEMBER_OPERATIONS,
    SHARE_OPERATIONS,
    SHARE_POLL,
    HistoryError,
)
from kraftcheck.traces.rows import (
    NEVER,
    NULL,
    OFFSETS,
    Ints,
    Rows,
    Words,
    begins,
    coded,
    numbered,
    places_within,
)
from kraftcheck.traces.values import name

Flags = NDArray[np.bool_]
Raw = msgspec.Raw

KINDS: Final = {each: number for number, each in enumerate(TYPES)}
OUTCOMES: Final = tuple(TYPES.values())
OWN: Final = ("assign", "subscribe", *CALLBACKS)
"""Verbs of consumers that name topic-partitions."""
ENDS: Final = ("latest", "earliest")
_VERBS: Final = {"send": "append", "poll": "fetch"}
CHUNK: Final = 1 << 19
"""Bytes that are decoded at once."""
NOTHING: Final = msgspec.Raw()
_NAMES: Final = {"from": "froms", "seek-to-beginning?": "rewinds"}
_NEEDED: Final = ("process", "type", "f")
_OF_LINES: Final = ("at", "kind", "verb", "client", "process")
_TYPED: Final = {"time": int, "index": int, "isolation": str, "mark": str}
_OPTIONAL: Final = ("value", "error", *EXTRA, "time", "index")


def _line_of(colon: str) -> Any:
    """An event as it is written; what is not told is empty."""
    told: dict[str, tuple[Any, Any]] = dict.fromkeys(_OPTIONAL, (Raw, NOTHING))
    told |= {each: (type_ | None, None) for each, type_ in _TYPED.items()}
    kinds = (int | str, str, str)
    fields: list[Any] = [
        (each, kind, msgspec.field(name=colon + each))
        for each, kind in zip(_NEEDED, kinds, strict=True)
    ]
    for key, (kind, default) in told.items():
        own = msgspec.field(default=default, name=colon + key)
        fields.append((_NAMES.get(key, key), kind, own))
    return msgspec.defstruct("Line", fields, gc=False)


_DECODERS: Final = {colon: msgspec.json.Decoder(_line_of(colon)) for colon in ("", ":")}
Value = int | str
_Send = Literal["send", ":send"]
_Poll = Literal["poll", ":poll"]
_SENT: Final = msgspec.json.Decoder(list[tuple[tuple[_Send, Value, Value]]])
_ACKED: Final = msgspec.json.Decoder(
    list[tuple[tuple[_Send, Value, tuple[int | None, Value] | int | str]]]
)
_POLLS: Final = msgspec.json.Decoder(list[tuple[tuple[_Poll]]])
_SHOWN: Final = msgspec.json.Decoder(list[tuple[tuple[_Poll, dict[str, list[tuple[int, Value]]]]]])
_PLACES: Final = msgspec.json.Decoder(list[tuple[dict[str, int | None]]])
_PROGRESS: Final = msgspec.json.Decoder(list[tuple[str, list[tuple[Value, int]]]])
_KEYS: Final = msgspec.json.Decoder(list[list[Value]])
_OF_GROUP: Final = msgspec.json.Decoder(list[tuple[str, list[Value] | None]])
_SHARED: Final = msgspec.json.Decoder(
    list[tuple[str, dict[str, list[tuple[int, Value, int]]] | None]]
)
_ACKS: Final = msgspec.json.Decoder(list[tuple[str, list[tuple[Value, int, str]]]])
_OF_KEY: Final = msgspec.json.Decoder(list[tuple[Value, int | None]])


def rows_of(path: Path, format: str = jsonlines.NAME) -> Rows | None:
    """The history in a file, or None: read its events. format: jsonlines, or one of EDN."""
    try:
        reader = _Reader(str(path), format)
        counts, length = [0, 0], 0
        for piece, last in _pieces(path):
            counts = [a + b for a, b in zip(counts, brackets(piece), strict=True)]
            length += len(piece)
            reader.feed(piece, last)
        refuse_dense(path, counts, length)
        return reader.rows()
    except (Unusual, HistoryError, msgspec.MsgspecError, pa.ArrowException):
        return None
    except (OSError, UnicodeError, OverflowError, RecursionError):
        return None


def _pieces(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Whole lines, and whether they are the last."""
    with open_file(path) as file, named(path):
        kept, length = b"", 0
        while data := file.read(CHUNK):
            length += len(data)
            _usual(length <= FILE_MAX)
            at = data.rfind(b"\n") + 1
            _usual(at or len(data) < CHUNK)
            if kept and at:
                yield kept + data[:at], False
                kept = data[at:]
            else:
                if at:
                    yield data[:at], False
                kept = kept + data[at:]
        yield kept, True


def _usual(is_so: object) -> None:
    if not is_so:
        raise Unusual


class _Part(NamedTuple):
    """Rows of one verb: of which call each is, and what its verb tells."""

    call: list[int]
    key: Sequence[Value | None]
    group: list[str] | None = None
    offset: list[int] | None = None
    to: list[int] | None = None
    end: list[int] | None = None
    answered: list[int] | None = None
    value: list[Value] | None = None
    shown: Sequence[int] | None = None
    """How many records; missing columns tell nothing."""
    mapped: bool = False
    """Whether the keys are those of maps, which are strings."""


class _Reader:
    """Read one file, piece by piece.

    lines: of the piece at hand, and before them those of earlier pieces that are open. of: what
    each says, in columns, and where in the file it is. begun, ended: the lines of each call, in the
    order of invocation (NULL: never). told: the optional fields that a line may have had so far.
    """

    def __init__(self, source: str, format: str) -> None:
        self.source, self.format = source, format
        self.colon = "" if format == jsonlines.NAME else ":"
        self.lines: list[Any] = []
        nothing = np.empty(0, np.int64)
        self.of: dict[str, Ints] = dict.fromkeys(_OF_LINES, nothing)
        self.begun: Ints = nothing
        self.ended: Ints = nothing
        self.count = 0
        self.retired: Ints = nothing
        self.last_index = -(1 << 63)
        self.timed: list[Ints] | None = []
        self.nemesis: dict[int, Event] = {}
        self.columns: dict[str, list[Ints]] = {}
        self.values: tuple[list[pa.Array], list[pa.Array]] = ([], [])
        self.records: tuple[list[int], list[Value | None], list[int]] = ([], [], [])
        self.numbers: dict[str, dict[Any, int]] = {}
        self.known: set[Value] = set()
        self.told: set[str] = set()
        self.phrases = Phrases()

    def feed(self, data: bytes, last: bool) -> None:
        """Take the next piece. Raises Unusual, or what a damaged file raises."""
        new = self._read(data) if data else []
        kept = len(self.lines)
        self.lines = self.lines + new
        kinds = [_KINDS.get(each.type, NULL) for each in new]
        _usual(NULL not in kinds)
        said = [each.f for each in new]
        verbs = {each: self._coded("f", [word(each)])[0] for each in dict.fromkeys(said)}
        processes = [each.process for each in new]
        clients = [type(each) is int for each in processes]
        if not all(clients):
            processes = [each if type(each) is int else NULL for each in processes]
        columns = {
            "at": np.arange(self.count, self.count + len(new)),
            "kind": kinds,
            "verb": [verbs[each] for each in said],
            "client": clients,
            "process": processes,
        }
        self.of = {
            name: np.concatenate((column, np.array(columns[name], np.int64)))
            for name, column in self.of.items()
        }
        self.count += len(new)
        if "txn" in self.told:
            _usual(not any(each.txn is not NOTHING and _told(each.txn) for each in new))
        times = [each.time for each in new]
        if self.timed is not None and None not in times:
            self.timed.append(np.array(times, np.int64))
        else:
            self.timed = None
        known = [self.last_index, *(each.index for each in new if each.index is not None)]
        _usual(all(map(lt, known, known[1:])))
        self.last_index = known[-1]
        client = self.of["client"] == 1
        acks = client & self._verbs().any_of((ACKNOWLEDGE,))
        self.begun, self.ended = self._paired(np.flatnonzero(client & ~acks), kept)
        if acks.any():
            begun, ended = self._by_value(np.flatnonzero(acks))
            order = np.argsort(found := np.concatenate((self.begun, begun)))
            self.begun, self.ended = found[order], np.concatenate((self.ended, ended))[order]
        _usual(self.nemesis.keys() >= set(self.of["at"][~client].tolist()))
        left = self.begun[:0] if last else self.begun[self.ended == NULL]
        if not last:
            closed = self.ended != NULL
            self.begun, self.ended = self.begun[closed], self.ended[closed]
        self._emit()
        self.lines = [self.lines[each] for each in left.tolist()]
        self.of = {name: column[left] for name, column in self.of.items()}

    def _read(self, data: bytes) -> list[Any]:
        """The lines of a piece."""
        if not self.count:
            _usual(data[:1] in b"{#")
        if not data.isascii():
            data.decode()
        bytes_of = np.frombuffer(data, np.uint8)
        breaks = np.flatnonzero(bytes_of == ord("\n"))
        _refuse_long(bytes_of, breaks)
        escaped = b"\\" in data
        self.told |= {each for each in _OPTIONAL if escaped or each.encode() in data}
        if self.colon:
            lines = self._read_edn(self._without_nemesis(data))
        else:
            lines = _DECODERS[self.colon].decode_lines(data)
        _usual(len(breaks) + (data[-1:] != b"\n") == len(lines))
        if not self.colon:
            for at, each in enumerate(lines):
                if type(each.process) is not int:
                    begin = int(breaks[at - 1]) + 1 if at else 0
                    end = int(breaks[at]) if at < len(breaks) else len(data)
                    self._note(at, data[begin:end].decode())
        return lines

    def _read_edn(self, data: bytes) -> list[Any]:
        """The lines of a piece: by the phrases of earlier ones, else by its tokens."""
        decoder = _DECODERS[self.colon]
        lines: list[Any] | None = None
        if (found := self.phrases.json(data)) is not None:
            with suppress(msgspec.MsgspecError):
                lines = decoder.decode_lines(found.text)
            if lines is not None and found.keys == self._entries(lines):
                return _without_repeats(lines, found.further())
        found_of = as_json(data)
        self.phrases.learn(data, found_of.text)
        return _without_repeats(decoder.decode_lines(found_of.text), found_of.further)

    def _entries(self, lines: list[Any]) -> int:
        """How many fields the lines have that say something."""
        found = len(_NEEDED) * len(lines)
        for each in self.told:
            column = [*map(attrgetter(_NAMES.get(each, each)), lines)]
            found += len(column) - column.count(None if each in _TYPED else NOTHING)
        return found

    def _without_nemesis(self, data: bytes) -> bytes:
        """EDN in which each line of the nemesis says no more than when it is."""
        found = data.find(_NEMESIS)
        if found < 0:
            return data
        done, line, pieces = 0, 0, []
        while found >= 0:
            begin = data.rfind(b"\n", 0, found) + 1
            end = data.find(b"\n", found)
            end = len(data) if end < 0 else end
            line += data.count(b"\n", done, begin)
            event = self._note(line, data[begin:end].decode())
            said = f"{{:process :nemesis, :type :{event.kind}, :f :nemesis"
            said += "" if event.time is None else f", :time {event.time}"
            said += "" if event.number is None else f", :index {event.number}"
            pieces += [data[done:begin], said.encode() + b"}"]
            done, found = end, data.find(_NEMESIS, end)
        return b"".join((*pieces, data[done:]))

    def _note(self, line: int, text: str) -> Event:
        """An event of the nemesis. line: from 0, in this piece."""
        number = self.count + line + 1
        fields = Fields(self.source, colon=bool(self.colon))
        if self.colon:
            forms = list(read_forms(text, self.source))
            _usual(len(forms) == 1 and text.lstrip()[:1] in ("{", "#"))
            event = fields.event(number, forms[0][1])
        else:
            form = jsonlines.decoded(self.source, number, text)
            event = jsonlines.event(fields, self.source, number, form)
        _usual(event.process is None)
        self.nemesis[number - 1] = event
        return event

    def _emit(self) -> None:
        """Add the rows of the calls at hand to the columns."""
        parts = self._parts()
        call = np.array([each for part in parts for each in part.call], np.int64)
        order = np.argsort(call, kind="stable")
        call = call[order]
        begun, ended = self.begun[call], self.ended[call]
        kind = np.where(ended == NULL, KINDS["info"], self.of["kind"][ended])
        pairs = list(zip(self.begun.tolist(), self.ended.tolist(), strict=True))
        lines = self.lines
        errors: list[str | None] = [None] * len(pairs)
        if "error" in self.told:
            errors = [
                _error(bytes(lines[e].error), self.colon) if e != NULL else None for _, e in pairs
            ]
        isolations = [each and word(each) for each in self._said(pairs, "isolation")]
        said: dict[str, Iterable[Hashable]] = {
            "error": errors,
            "mark": self._said(pairs, "mark"),
            "isolation": isolations,
        }
        found: dict[str, Ints] = {
            each: self._coded(each, said[each])[call]
            if each in self.told
            else np.full(len(call), NULL)
            for each in said
        }
        keys = [self._keys(part) for part in parts]
        shown_of = np.maximum(_column(parts, "shown", np.arange(len(order))), 0)
        places = _moved(shown_of, order)
        groups = self._coded("group", [each for part in parts for each in _of(part.group, part)])
        found |= {
            "f": self.of["verb"][begun],
            "calls": self.of["at"][self.begun],
            "begun": self.of["at"][begun],
            "ended": np.where(ended == NULL, NULL, self.of["at"][ended]),
            "kind": kind,
            "process": self.of["process"][begun],
            "key": np.concatenate((*keys, np.empty(0, np.int64)))[order],
            "group": groups[order],
            "shown": shown_of[order],
            "offsets": np.array(self.records[0], np.int64)[places],
            "more": np.array(self._aligned()[2], np.int64)[places],
        }
        found |= {each: _column(parts, each, order) for each in ("offset", "to", "end", "answered")}
        for each, column in found.items():
            self.columns.setdefault(each, []).append(_packed(column))
        own = pa.array([each for part in parts for each in _of(part.value, part)])
        self.values[0].append(own.take(pa.array(order)))
        self.values[1].append(pa.array(self.records[1]).take(pa.array(places)))
        self.records = ([], [], [])

    def _coded(self, column: str, words: Iterable[Hashable]) -> Ints:
        """Each word as its number in the column."""
        numbers = self.numbers.setdefault(column, {})
        codes = [NULL if each is None else numbers.setdefault(each, len(numbers)) for each in words]
        return np.array(codes, np.int64)

    def _keys(self, part: _Part) -> Ints:
        """Numbers of keys; those of maps, which are still to be decided, are below NULL."""
        if part.mapped:
            return NULL - 1 - self._coded("mapped", part.key)
        return self._coded("key", part.key)

    def rows(self) -> Rows:
        """All that was fed."""
        column = {each: _joined(self.columns.pop(each)) for each in list(self.columns)}
        value, returned = self._values()
        order = np.argsort(column["begun"], kind="stable")
        if (order[1:] < order[:-1]).any():
            counts = column["shown"]
            places = _moved(counts, order)
            returned = returned.take(pa.array(places))
            column["offsets"], column["more"] = column["offsets"][places], column["more"][places]
            value = value.take(pa.array(order))
            for each in set(column) - {"calls", "offsets", "more"}:
                if column[each].strides != (0,):
                    column[each] = column[each][order]
        begun, ended = column["begun"], column["ended"]
        calls = np.sort(column["calls"])
        operation = np.searchsorted(calls, begun)
        times, unit = self._times()
        words = {each: Words(column[each], tuple(self.numbers.get(each, ()))) for each in _WORDS}
        words["f"] = Words(column["f"], tuple(_VERBS.get(each, each) for each in words["f"].names))
        for each in ("group", "mark") if self.colon else ():
            _usual(not any(of.startswith(":") for of in words[each].names))
        _usual(set(words["isolation"].names) <= set(ISOLATIONS))
        _usual({"append", "fetch"} & set(words["f"].names))
        key = self._decided(column["key"])
        _refuse_twice(column["offset"], key.codes, words["f"].are("append"), value)
        at = np.array(sorted(self.nemesis), np.int64)
        done = [self.nemesis[each] for each in at.tolist()]
        return Rows(
            source=self.source,
            format=self.format,
            time_unit=unit,
            annotations=annotations_of(done, times[at].tolist(), int(times[-1])),
            line=begun + 1,
            number=numbered(operation, words["f"]),
            operation=operation,
            txn=np.broadcast_to(np.int64(NULL), len(begun)),
            process=column["process"],
            outcome=Words(column["kind"] - 1, OUTCOMES[1:]),
            invoked=times[begun],
            completed=np.where(ended == NULL, NEVER, times[ended]),
            key=key,
            value=value,
            offset=column["offset"],
            to=column["to"],
            end=column["end"],
            answered=column["answered"] == 1,
            splits=np.concatenate(([0], np.cumsum(column["shown"]))).astype(np.int64),
            offsets=column["offsets"],
            returned=returned,
            more=column["more"] if words["f"].any_of(SHARE_OPERATIONS).any() else None,
            f=words["f"],
            error=words["error"],
            mark=words["mark"],
            isolation=words["isolation"],
            group=words["group"],
        )

    def _times(self) -> tuple[Ints, str]:
        """Times that rise with every line (events.py)."""
        if self.timed is None:
            return np.arange(self.count), "event"
        times = np.concatenate(self.timed)
        _usual(len(times) and (times[1:] >= times[:-1]).all())
        at = np.arange(len(times))
        _usual(int(times[0]) in TIMES and int(times[-1]) + len(at) in TIMES)
        return np.maximum.accumulate(times - at) + at, "ns"

    def _decided(self, codes: Ints) -> Words:
        """The keys by their names."""
        plain_names = [self._plain(each) for each in self.numbers.get("key", ())]
        known = {self._plain(each) for each in self.known}
        mapped = [self._mapped(each, known) for each in self.numbers.get("mapped", ())]
        names = coded([*mapped[::-1], *plain_names])
        # In the order of the numbers: those of maps below NULL, NULL, the others.
        of = np.concatenate((names.codes[: len(mapped)], [NULL], names.codes[len(mapped) :]))
        return Words(of[codes + len(mapped) + 1], names.names)

    def _plain(self, key: Value) -> str:
        if type(key) is str:
            _usual(self.colon or key != "null")
            return key if self.colon and key.startswith(":") else name(key)
        return str(key)

    def _mapped(self, key: str, known: set[str]) -> str:
        if not self.colon:
            _usual(key != "null")
            found = decided(self.source, 0, MapKey(key), known)
            _usual(found is not None)
            return str(found)
        if key.startswith("#"):
            _usual(NUMBER.fullmatch(key[1:]))
            return key[1:]
        return self._plain(key)

    # -- Which lines belong together (events.py: record)

    def _verbs(self) -> Words:
        """The verbs of the lines at hand."""
        return Words(self.of["verb"], tuple(self.numbers.get("f", ())))

    def _paired(self, at: Ints, kept: int) -> tuple[Ints, Ints]:
        """By how deep within others each operation of a process is. kept: lines from before."""
        if not len(at):
            return at, at
        verbs, told = self._verbs(), self.of["process"][at]
        callback = verbs.any_of(CALLBACKS)
        member = verbs.any_of((*MEMBER_OPERATIONS, *SHARE_OPERATIONS))
        kinds = self.of["kind"]
        _usual(not np.isin(told[at >= kept], self.retired).any())
        process = np.unique(told, return_inverse=True)[1].ravel()
        order = np.argsort(process, kind="stable")
        line, process = at[order], process[order]
        opens = kinds[line] == KINDS["invoke"]
        step = np.where(opens, 1, -1)
        run = np.cumsum(step)
        first = np.flatnonzero(begins(process))
        before = np.repeat(run[first] - step[first], np.diff(np.append(first, len(line))))
        depth = run - before + ~opens
        _usual((depth >= 1).all())
        # Whoever was left open asks nothing more under its number.
        left = (kinds[line] == KINDS["info"]) & ~member[line]
        _usual(not (left[:-1] & (process[1:] == process[:-1])).any())
        self.retired = np.concatenate((self.retired, told[order][left]))
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
        return begun[calls], ended[calls]

    def _by_value(self, at: Ints) -> tuple[Ints, Ints]:
        """Acknowledgements, which end in any order: the last with its value ends."""
        opened: dict[tuple[int, bytes], list[int]] = {}
        ends: dict[int, int] = {}
        for line in at.tolist():
            each = self.lines[line]
            name = (each.process, bytes(each.value))
            if self.of["kind"][line] == KINDS["invoke"]:
                opened.setdefault(name, []).append(line)
                ends[line] = NULL
            else:
                _usual(opened.get(name))
                ends[opened[name].pop()] = line
        return np.array([*ends], np.int64), np.array([*ends.values()], np.int64)

    # -- What each verb tells (log_parts.py)

    def _parts(self) -> list[_Part]:
        readers: dict[str, Callable[[list[int]], _Part]] = {
            "send": self._sends,
            "poll": self._polls,
            SHARE_POLL: self._share_polls,
            ACKNOWLEDGE: self._acks,
            "leave": self._leaves,
            "committed": self._committed,
            **dict.fromkeys(OFFSETS, self._progress),
            **dict.fromkeys(ENDS, self._ends),
            **{f: partial(self._of_partitions, f) for f in OWN},
        }
        parts: list[_Part] = []
        verbs = self.of["verb"][self.begun]
        for f, number in self.numbers.get("f", {}).items():
            calls = np.flatnonzero(verbs == number).tolist()
            if calls:
                _usual(f in readers)
                parts.append(readers[f](calls))
        return parts

    def _leaves(self, calls: list[int]) -> _Part:
        told = self._decoded(_OF_GROUP, self.begun, calls)
        return _Part(calls, [None] * len(calls), [group for group, _ in told])

    def _progress(self, calls: list[int]) -> _Part:
        """A row for each offset."""
        told = self._decoded(_PROGRESS, self.begun, calls)
        _usual(all(pairs for _, pairs in told))
        return _by_offset(calls, told, 0)

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
        kind = np.where(ended == NULL, NULL, self.of["kind"][ended])
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
                    if place < 0:
                        raise Unusual
                    offset[at] = place
            if there != key[at] or said != value[at]:
                raise Unusual
        self.known.update(key)
        return _Part(calls, key, offset=offset, value=value)

    def _polls(self, calls: list[int]) -> _Part:
        good, _ = self._answered(calls)
        self._decoded(_POLLS, self.begun, calls)
        told = dict(zip(good, self._decoded(_SHOWN, self.ended, good), strict=True))
        said = np.where(self.ended[calls] == NULL, self.begun[calls], self.ended[calls]).tolist()
        froms, ends, tos = (
            _places(calls, [getattr(self.lines[line], _NAMES.get(each, each)) for line in said])
            if each in self.told
            else {}
            for each in ("from", "ends", "to")
        )
        rows: list[tuple[Any, ...]] = []
        offsets, values, _ = self.records
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
        return _Part(column[0], column[1], mapped=True, **told_of)

    def _share_polls(self, calls: list[int]) -> _Part:
        """A row for each key, or one."""
        asked = self._decoded(_SHARED, self.begun, calls)
        good, where = self._answered(calls)
        told = dict(zip(where, self._decoded(_SHARED, self.ended, good), strict=True))
        call_of: list[int] = []
        keys: list[Value | None] = []
        groups: list[str] = []
        answered: list[int] = []
        counts: list[int] = []
        for at, (call, (group, nothing)) in enumerate(zip(calls, asked, strict=True)):
            there, shown_of = told.get(at, (group, {}))
            _usual(nothing is None and there == group)
            for key, records in (shown_of or {None: []}).items():
                _usual(all(offset >= 0 and count >= 1 for offset, _, count in records))
                call_of.append(call)
                keys.append(key)
                groups.append(group)
                answered.append(at in told)
                counts.append(len(records))
                offsets, values, more = self._aligned()
                for offset, value, count in records:
                    offsets.append(offset)
                    values.append(value)
                    more.append(count)
        return _Part(call_of, keys, groups, answered=answered, shown=counts, mapped=True)

    def _acks(self, calls: list[int]) -> _Part:
        """A row for each key."""
        call_of: list[int] = []
        keys: list[Value] = []
        groups: list[str] = []
        counts: list[int] = []
        for call, (group, rows) in zip(calls, self._decoded(_ACKS, self.begun, calls), strict=True):
            _usual(rows)
            of: dict[Value, list[tuple[int, int]]] = {}
            for key, offset, kind in rows:
                _usual(offset >= 0 and kind in ACKNOWLEDGEMENTS)
                of.setdefault(key, []).append((offset, ACKNOWLEDGEMENTS.index(kind)))
            offsets, values, more = self._aligned()
            for key, pairs in of.items():
                call_of.append(call)
                keys.append(key)
                groups.append(group)
                counts.append(len(pairs))
                offsets.extend(offset for offset, _ in pairs)
                values.extend([None] * len(pairs))
                more.extend(kind for _, kind in pairs)
        self.known.update(keys)
        return _Part(call_of, keys, groups, shown=counts)

    def _aligned(self) -> tuple[list[int], list[Value | None], list[int]]:
        """The records of this piece, with what stands beside them."""
        offsets, _, more = self.records
        more.extend([NULL] * (len(offsets) - len(more)))
        return self.records

    def _of_partitions(self, f: str, calls: list[int]) -> _Part:
        """A row for each partition that is named, or one."""
        of_group = f in CALLBACKS
        told = self._decoded(_OF_GROUP if of_group else _KEYS, self.begun, calls)
        answered: list[int] = []
        named: list[Value | None] = []
        part = _Part([], named, [] if of_group else None, answered=answered)
        for call, each in zip(calls, told, strict=True):
            keys = each[1] if of_group else each
            _usual(keys is not None)
            rewinds = bytes(self.lines[int(self.begun[call])].rewinds)
            _usual(rewinds in (b"", b"null", b"true", b"false"))
            rows = max(len(keys), 1)
            part.call.extend([call] * rows)
            named.extend(keys or [None])
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
        keys = [key for key, _ in asked]
        self.known.update(keys)
        return _Part(calls, keys, end=ends)

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
        if what not in self.told:
            return [None] * len(pairs)
        of = [getattr(each, what) for each in self.lines]
        return [of[e] if of[b] is None and e != NULL else of[b] for b, e in pairs]

    def _values(self) -> tuple[pa.Array, pa.Array]:
        """What was appended and what was returned, as one type."""
        types = {each.type for of in self.values for each in of} - {pa.null()}
        _usual(len(types) <= 1)
        kind = next(iter(types), pa.null())
        own, returned = (pa.concat_arrays([each.cast(kind) for each in of]) for of in self.values)
        if self.colon and pa.types.is_string(kind):
            _usual(not any(pc.any(pc.starts_with(each, ":")).as_py() for each in (own, returned)))
        return own, returned


_WORDS: Final = ("f", "error", "mark", "isolation", "group")
_KINDS: Final = KINDS | {f":{each}": number for each, number in KINDS.items()}
_NEMESIS: Final = b":process :nemesis"


def _without_repeats(lines: list[Any], further: Ints) -> list[Any]:
    """The lines. Raises Unusual: one has a map with a key twice; decoded, it has fewer entries."""
    _usual(all(_further(lines[at]) == further[at] for at in np.flatnonzero(further)))
    return lines


def _further(line: Any) -> int:
    """How many entries of the maps of a line follow another one."""
    told = [each for each in (line.value, line.froms, line.ends, line.to) if each is not NOTHING]
    found = 0
    for part in map(msgspec.json.decode, told):
        for each in part if type(part) is list else ():
            maps = each if type(each) is list else (each,)
            found += sum(max(len(of) - 1, 0) for of in maps if type(of) is dict)
    return found


def _moved(counts: Ints, order: Ints) -> Ints:
    """Where the records of rows are, when the rows come in that order."""
    of = counts[order]
    places: Ints = np.repeat((np.cumsum(counts) - counts)[order], of) + places_within(of)
    return places


def _packed(column: Ints) -> NDArray[Any]:
    """The same in as few bytes as hold it; of one word, no more than that."""
    if len(column) and (column == column[0]).all():
        return np.broadcast_to(column[0], len(column))
    small = np.iinfo(np.int32)
    fits = len(column) and small.min <= column.min() and column.max() <= small.max
    return column.astype(np.int32) if fits else column


def _joined(pieces: list[NDArray[Any]]) -> Ints:
    """One column of its pieces."""
    first = next((each[0] for each in pieces if len(each)), None)
    if first is not None and all(
        not len(each) or (each.strides == (0,) and each[0] == first) for each in pieces
    ):
        return np.broadcast_to(np.int64(first), sum(map(len, pieces)))
    return np.concatenate(pieces, dtype=np.int64)


def _refuse_twice(offset: Ints, key: Ints, append: Flags, value: pa.Array) -> None:
    """Raises Unusual: one record is acknowledged twice, which is refused."""
    at = np.flatnonzero(append & (offset != NULL))
    order = at[np.argsort(key[at], kind="stable")]
    same = key[order[1:]] == key[order[:-1]]
    if (~same | (offset[order[1:]] > offset[order[:-1]])).all():
        return
    numbers = value.dictionary_encode().indices.fill_null(NULL).to_numpy(zero_copy_only=False)
    told = np.stack((key[at], offset[at], numbers[at]))
    _usual(np.unique(told, axis=1).shape[1] == len(at))


def _refuse_long(data: NDArray[np.uint8], breaks: Ints) -> None:
    """Raises Unusual: a line, or a number, may be longer than is read."""
    _usual(np.diff(breaks, prepend=-1, append=len(data)).max() <= TOKEN_MAX)
    # Of a number that is too long, four bytes in a row that are sampled are digits.
    step = DIGITS_MAX // 4
    digit = (data[::step] - ord("0")) <= 9
    long = digit[:-3] & digit[1:-2] & digit[2:-1] & digit[3:]
    for at in (np.flatnonzero(long) * step).tolist():
        _usual(not data[at : at + 3 * step + 1].tobytes().isdigit())


def _told(raw: Raw) -> bool:
    return raw is not NOTHING and bytes(raw) != b"null"


@lru_cache(1 << 12)
def _error(raw: bytes, colon: str) -> str | None:
    said = msgspec.json.decode(raw) if raw else None
    said = _worded(said) if colon else said
    return None if said is None else shown(said, 200)


def _worded(value: Any) -> Any:
    """A value of EDN, whose words are strings here."""
    _usual(type(value) is not dict)
    if type(value) is list:
        return [_worded(each) for each in value]
    return Keyword(value) if type(value) is str and value.startswith(":") else value


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
