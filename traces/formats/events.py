"""Invocations and completions: what each says, and which belong together.

Jepsen's rules [jepsen.history, jepsen.generator.interpreter]: a process (an integer) has one
operation open at a time. `ok` and `fail` close it for good; `info`, or no completion at all, leaves
it open for ever, and its process is not used again. Where a logger did use it again, the later
operations are given a process of their own: whoever timed out may still be at work meanwhile.

A member of a consumer group has callbacks, which its library runs while the client polls or closes:
they may be within an operation that is open, and hold others; whoever commits and times out stays
the member that it is. So may the acknowledgements of a member of a share group, which end in any
order: the value that was acknowledged names the one that ends.

The order of lines is the order of events, as for Jepsen's own checkers. Where times are equal or go
back (loggers of several threads), a time is one unit after the one before, so that the order of
lines stays; where one is missing, the position in the file takes the place of all of them.

Elle's and Knossos' histories leave out what their checkers do not need. An operation without a
process has one of its own. In a file of completions alone each operation was invoked when its
process had completed the one before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from kraftcheck.traces.formats.edn import Tagged, keyword
from kraftcheck.traces.formats.keys import key_of
from kraftcheck.traces.formats.text import INT64, TIMES, shown
from kraftcheck.traces.history import (
    ACKNOWLEDGE,
    CALLBACKS,
    FAIL,
    INDETERMINATE,
    MEMBER_OPERATIONS,
    OK,
    SHARE_OPERATIONS,
    Annotation,
    HistoryError,
)

FIELDS: Final = ("process", "type", "f", "value", "time", "index", "error", "key")
"""The keys of an operation's map that mean something here; all others are left alone."""
EXTRA: Final = ("from", "ends", "to", "txn", "isolation", "mark", "seek-to-beginning?")
"""Keys that only some operations of logs have."""
VERB_MAX: Final = 100
"""Characters of a verb."""
TYPES: Final = {"invoke": "invoke", "ok": OK, "fail": FAIL, "info": INDETERMINATE}


NAMELESS: Final = 1 << 64
"""In the place of a process that the file does not name."""


class Event(NamedTuple):
    """One line of a history. `process` is None for the nemesis; `kind` is one of TYPES."""

    line: int
    process: int | None
    """NAMELESS: nobody says."""
    kind: str
    f: str
    value: Any
    time: int | None
    number: int | None
    """Its index, where the format has one."""
    error: str | None
    key: Any
    extra: Mapping[str, Any]
    """Those of EXTRA that the map has."""


class Call(NamedTuple):
    """An invocation and its completion, which is None if there never was one."""

    invocation: Event
    completion: Event | None
    process: int
    invoked: int
    completed: int | None

    @property
    def outcome(self) -> str:
        return TYPES[self.completion.kind] if self.completion else INDETERMINATE

    @property
    def error(self) -> str | None:
        return self.completion.error if self.completion else None


class Recording(NamedTuple):
    """The calls in order of invocation, what the nemesis did, and the unit of all times."""

    calls: list[Call]
    annotations: tuple[Annotation, ...]
    time_unit: str
    note: str | None = None
    """How the file differs from what Jepsen writes, where that matters to who reads a verdict."""


# -- One map as one event


class Fields:
    """Reads operations' maps whose keys are written in one way.

    colon: whether keys and words are EDN keywords.
    """

    def __init__(self, path: str, *, colon: bool) -> None:
        self._path = path
        self._keys = tuple(keyword(f":{name}") if colon else name for name in FIELDS)
        self._client = keyword(":client") if colon else "client"
        self._words: dict[str, str] = {}
        self._extra = {keyword(f":{name}") if colon else name: name for name in EXTRA}

    def event(self, line: int, form: Any) -> Event:
        """Raises HistoryError: the form is no operation, or a field is of the wrong type."""
        while type(form) is Tagged:
            form = form.value
        if type(form) is not dict:
            raise HistoryError(self._path, line, f"{shown(form)} is no operation")
        process, kind, f, value, time, index, error, key = map(form.get, self._keys)
        if process is None:
            process = form.get(self._client, NAMELESS)
        known = _KINDS.get(kind) if isinstance(kind, str) else None
        if known is None:
            what = "is missing" if kind is None else f"is {shown(kind)}, not one of {_LISTED}"
            raise HistoryError(self._path, line, f"type {what}")
        if f is None and type(process) is int and type(value) is tuple:
            f = "txn"  # Elle's histories hold nothing else.
        if not isinstance(f, str) or not f:
            # The nemesis may be told to do nothing in particular.
            if f is not None or type(process) is int:
                raise HistoryError(self._path, line, f"f is {shown(f)}, not a word")
            f = "nothing"
        elif len(f) > VERB_MAX:
            raise HistoryError(self._path, line, f"f is {shown(f)}, too long for a verb")
        if type(process) is not int:
            if not isinstance(process, str) or word(process) != "nemesis":
                what = "is missing" if process is None else f"is {shown(process)}, not an integer"
                raise HistoryError(self._path, line, f"process {what}")
            process = None
        elif process not in INT64 and process != NAMELESS:
            raise HistoryError(self._path, line, f"process {shown(process)} is beyond 64 bits")
        for name, number in (("time", time), ("index", index)):
            if number is not None and (type(number) is not int or number not in INT64):
                raise HistoryError(self._path, line, f"{name} is {shown(number)}, not an integer")
        said = None if error is None else shown(error, 200)
        extra: Mapping[str, Any] = _NOTHING
        if not self._extra.keys().isdisjoint(form):
            extra = {name: form[each] for each, name in self._extra.items() if each in form}
        return Event(line, process, known, self._word(f), value, time, index, said, key, extra)

    def _word(self, name: str) -> str:
        """One string for each verb, however many events have it."""
        found = self._words.get(name)
        if found is None:
            found = self._words[name] = word(name)
        return found


_NOTHING: Final[Mapping[str, Any]] = {}
_KINDS: Final = {
    spelt: kind
    for kind in TYPES
    for word_ in (kind, kind.upper())
    for spelt in (word_, f":{word_}", keyword(f":{word_}"))
}
_LISTED: Final = ", ".join(TYPES)


def word(name: str) -> str:
    """A keyword or string without the colon in front."""
    return name[1:] if name[:1] == ":" else name[:]


# -- Events in order, and in pairs


def record(path: str, events: Iterable[Event]) -> Recording:
    """Pairs the events of one file.

    Raises HistoryError: operations of a process overlap, a completion has no invocation or another
    verb, indices go back, or there is no operation at all.
    """
    told = _each_named(path, list(events))
    known = _invoked(told)
    times, unit, note = _times(path, known)
    if len(known) > len(told):
        alone = "no invocation is told, so that little of the order of real time is known"
        note = alone if note is None else f"{alone}; {note}"
    _check_indices(path, known)
    open_calls: dict[int, list[tuple[Event, int]]] = {}
    ends: dict[int, tuple[Event, int]] = {}
    renamed = _Renamed(known)
    starts: list[tuple[Event, int, int]] = []
    for event, time in zip(known, times, strict=True):
        process = event.process
        if process is None:
            continue
        stack = open_calls.get(process)
        if event.kind == "invoke":
            if stack and not _within(event, stack[-1][0]):
                since = stack[-1][0].line
                what = f"process {process} asks while its operation of line {since} is still open"
                raise HistoryError(path, event.line, what)
            open_calls.setdefault(process, []).append((event, len(starts)))
            starts.append((event, time, renamed.current(process)))
            continue
        if not stack:
            what = f"process {process} completes {shown(event.f)}, which it did not invoke"
            raise HistoryError(path, event.line, what)
        begun, at = stack.pop(_ending(event, stack))
        if begun.f != event.f:
            what = f"completes {shown(event.f)}, but line {begun.line} invoked {shown(begun.f)}"
            raise HistoryError(path, event.line, f"process {process} {what}")
        ends[at] = (event, time)
        if event.kind == "info" and event.f not in (*MEMBER_OPERATIONS, *SHARE_OPERATIONS):
            renamed.retire(process)
    if not starts:
        raise HistoryError(path, 0, "no client operation: a history has at least one")
    calls = []
    for at, (event, time, process) in enumerate(starts):
        completion, completed = ends.get(at, (None, None))
        calls.append(Call(event, completion, process, time, completed))
    done = [
        (event, time) for event, time in zip(known, times, strict=True) if event.process is None
    ]
    noted = annotations_of([event for event, _ in done], [time for _, time in done], times[-1])
    return Recording(calls, noted, unit, note)


def _each_named(path: str, events: list[Event]) -> list[Event]:
    """Gives each operation that nobody is known to have asked a process of its own.

    Raises HistoryError: it is not clear which invocation a completion belongs to.
    """
    if all(event.process != NAMELESS for event in events):
        return events
    free = max((e.process for e in events if e.process not in (None, NAMELESS)), default=-1) + 1
    waiting: dict[str, list[Event]] = {}
    named = []
    for event in events:
        if event.process == NAMELESS:
            candidates = waiting.setdefault(event.f, [])
            if event.kind == "invoke" or not candidates:
                event, free = event._replace(process=free), free + 1
                candidates += [event] if event.kind == "invoke" else []
            else:
                found = [each for each in candidates if each.value == event.value]
                found = found if len(candidates) > 1 else candidates[:]
                if len(found) != 1:
                    lines = " and ".join(str(each.line) for each in candidates[:2])
                    what = f"process is missing, and {shown(event.f)} of lines {lines} are open"
                    raise HistoryError(path, event.line, what)
                candidates.remove(found[0])
                event = event._replace(process=found[0].process)
        named.append(event)
    return named


def _invoked(events: list[Event]) -> list[Event]:
    """Of completions alone, those with an invocation each: as early as their process was free."""
    if any(event.kind == "invoke" for event in events if event.process is not None):
        return events
    waiting: dict[int, deque[Event]] = {}
    for event in events:
        if event.process is not None:
            waiting.setdefault(event.process, deque()).append(event)

    def begin(process: int, time: int | None) -> list[Event]:
        left = waiting[process]
        return [left.popleft()._replace(kind="invoke", time=time, number=None)] if left else []

    if not waiting:
        return events
    found = [each for process in list(waiting) for each in begin(process, events[0].time)]
    for event in events:
        found.append(event)
        if event.process is not None:
            found += begin(event.process, event.time)
    return found


def _within(event: Event, outer: Event) -> bool:
    """Whether an operation may be invoked while another one of its process is open."""
    both = (event.f, outer.f)
    return ACKNOWLEDGE in both or not set(both).isdisjoint(CALLBACKS)


def _ending(event: Event, stack: list[tuple[Event, int]]) -> int:
    """Return which of a process's open operations a completion ends.

    It is the last one; where there are acknowledgements, the last of its verb, and of those the
    last with its value.
    """
    if ACKNOWLEDGE not in {event.f, stack[-1][0].f}:
        return -1
    for at in range(len(stack) - 1, -1, -1):
        begun = stack[at][0]
        if begun.f == event.f and (event.f != ACKNOWLEDGE or begun.value == event.value):
            return at
    return -1


class _Renamed:
    """Who speaks as which process after an operation of his was left open."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._next = max((e.process for e in events if e.process is not None), default=0) + 1
        self._names: dict[int, int | None] = {}

    def current(self, process: int) -> int:
        name = self._names.get(process, process)
        if name is None:
            name = self._names[process] = self._next
            self._next += 1
        return name

    def retire(self, process: int) -> None:
        self._names[process] = None


def _times(path: str, events: list[Event]) -> tuple[list[int], str, str | None]:
    """Strictly increasing times, their unit, and whether the file's own go back."""
    if any(event.time is None for event in events):
        return list(range(len(events))), "event", None
    times = []
    said, last, back, furthest = -(2**63), -(2**63), 0, 0
    for event in events:
        assert event.time is not None
        back += event.time < said
        furthest = max(furthest, said - event.time)
        said = max(said, event.time)
        last = max(said, last + 1)
        if last not in TIMES:
            what = f"time is {last}, beyond {TIMES.stop - 1}, the farthest that is read"
            raise HistoryError(path, event.line, what)
        times.append(last)
    note = f"times go back in {back:,} lines, by {furthest / 1e6:,.3f} ms at most: lines count"
    return times, "ns", note if back else None


def _check_indices(path: str, events: list[Event]) -> None:
    last: int | None = None
    before = 0
    for event in events:
        if event.number is None:
            continue
        if last is not None and event.number <= last:
            what = f"index goes back to {event.number} from {last} of line {before}"
            raise HistoryError(path, event.line, what)
        last, before = event.number, event.line


# -- The nemesis

LEADER_EPOCH: Final = "leader-epoch"
FAULT: Final = "fault"
"""Verbs of our own export: a new leader epoch, a fault of a moment; `start-fault7` lasts."""
_BEGINS: Final = ("start", "pause")
_ENDS: Final = {"stop": "start", "resume": "pause"}
_LABEL_MAX: Final = 120


def annotations_of(events: list[Event], times: list[int], end: int) -> tuple[Annotation, ...]:
    """What the nemesis did, of its events.

    Jepsen tells each twice: when it begins, and when it is done. end: when the history does.

    A fault lasts from the end of its `start-x` (or `pause-x`) to the end of `stop-x` (`resume-x`),
    or to the end of the history, and is called `x`; anything else lasts as long as doing it took.
    """
    found: list[Annotation] = []
    begun: dict[str, tuple[Event, int]] = {}
    lasting: dict[str, tuple[int, str]] = {}
    for event, time in zip(events, times, strict=True):
        if event.f in (LEADER_EPOCH, FAULT):
            key = key_of(event.key)
            kind = "leader epoch" if event.f == LEADER_EPOCH else "fault"
            found.append(Annotation(at=time, kind=kind, label=_label(event), key=key))
            continue
        first = begun.pop(event.f, None)
        if first is None:
            begun[event.f] = (event, time)
            continue
        verb, dash, what = event.f.partition("-")
        if verb in _BEGINS:
            lasting.setdefault(verb + dash + what, (time, _label(event, what or verb)))
        elif verb in _ENDS and (start := lasting.pop(_ENDS[verb] + dash + what, None)):
            found.append(Annotation(at=start[0], until=time, kind="fault", label=start[1]))
        else:
            found.append(Annotation(at=first[1], until=time, kind="fault", label=_label(event)))
    found += [
        Annotation(at=at, until=end, kind="fault", label=said) for at, said in lasting.values()
    ]
    found += [Annotation(at=at, kind="fault", label=_label(e)) for e, at in begun.values()]
    return tuple(sorted(found, key=lambda each: each.at))


def _label(event: Event, f: str = "") -> str:
    """f: what to call it, unless as it was told."""
    value, f = event.value, f or event.f
    if value is None:
        return f
    text = shown(value, _LABEL_MAX)
    ours = event.f in (LEADER_EPOCH, FAULT) or event.f.startswith("start-fault")
    return text if ours else shown(f"{f} {text}", _LABEL_MAX)
