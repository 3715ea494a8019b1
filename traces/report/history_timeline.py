"""Where operations are drawn: the timeline as strips that fit a page's width.

Moments, not time, run from left to right: every beginning or end of a drawn operation is a moment,
and moments are as far apart as the words in the bars need. So a microsecond next to an hour can be
read, and nothing needs to be scrolled sideways; the axis says the times.

Which are drawn is the matter of history_choice.py; where many are left out is marked here. An
indeterminate operation is drawn to the end of the strip in which it began, though it never ends;
only one of the certificate goes on through all strips, and one that takes effect later up to there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from kraftcheck.traces.history import INDETERMINATE, OK, Annotation, History, Operation
from kraftcheck.traces.report import history_words as words
from kraftcheck.traces.report.history_choice import choice, until

LANES_MAX: Final = 4
CUT_MIN: Final = 20
"""So many operations left out between two moments are marked; all of them are counted in a note."""

WIDTH: Final = 1000
LEFT: Final = 84
"""Where the rows begin: left of it stand the processes."""
ROW: Final = 24
BAR: Final = 18
LANE: Final = 17
GAP_MIN: Final = 7
CHARACTER: Final = 6.4
"""Width of a character in a bar, at its font size."""
SMALL_CHARACTER: Final = 6.2
"""Width of a character beside a line or in a band."""
_PAD: Final = 10


class Bar(NamedTuple):
    """An operation, or the part of it that lies in one strip.

    Lengths are in the strip's units.

    first, last: whether it begins and ends in this strip.
    """

    operation: int
    x: float
    y: float
    width: float
    outcome: str
    first: bool
    last: bool
    label: str
    hint: str
    number: int
    """1 or 2 for the operations of the certificate, else 0. points: the linearization points in
    this strip, with their ranks.
    """
    shape: str


class Row(NamedTuple):
    process: int
    y: float


class Tick(NamedTuple):
    x: float
    label: str


class Band(NamedTuple):
    """A fault (`width` > 0) or a moment such as a new leader epoch."""

    x: float
    width: float
    y: float
    kind: str
    label: str
    hint: str
    anchor: str


class Cut(NamedTuple):
    """Here were operations that are not drawn."""

    x: float
    operations: int
    label: str
    """Empty where it would cover another."""


class Point(NamedTuple):
    """Where an operation may have taken effect, and as the how-manieth."""

    x: float
    y: float
    rank: int
    operation: int


class Strip(NamedTuple):
    height: float
    top: float
    rows: tuple[Row, ...]
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    bands: tuple[Band, ...]
    cuts: tuple[Cut, ...]
    points: tuple[Point, ...]


class Timeline(NamedTuple):
    strips: tuple[Strip, ...]
    operations: tuple[Operation, ...]
    """Those that are drawn."""
    notes: tuple[str, ...]
    """What is not, in words."""


NOTHING: Final = Timeline((), (), ())


def timeline(
    history: History,
    certificate: Sequence[int],
    key: str | None,
    witness: Sequence[int] | None = None,
) -> Timeline:
    """The timeline around the certificate's operations; from the beginning if it has none.

    key: the object that the certificate is about. witness: operations in an order in which they
    may have taken effect.
    """
    chosen, related, notes = choice(history, certificate, key)
    if not chosen:
        return Timeline((), (), tuple(notes))
    ends = {o.completed for o in chosen if o.completed is not None and until(o) < inf}
    moments = sorted({o.invoked for o in chosen} | ends)
    places = _places(chosen, moments)
    annotations = [a for a in history.annotations if a.key is None or a.key == key or key is None]
    scene = _Scene(history, chosen, moments, places, certificate, annotations, related)
    points = _points(chosen, witness or (), moments, places)
    strips = tuple(scene.strip(low, high, points) for low, high in _breaks(places))
    if scene.hidden:
        notes.append(f"{scene.hidden:,} faults and leader epochs find no place and are not drawn")
    notes += _unlabelled(strips)
    return Timeline(strips, tuple(chosen), tuple(notes))


def _unlabelled(strips: Sequence[Strip]) -> list[str]:
    """What is drawn without its words, in words."""
    found = []
    if any(strip.cuts for strip in strips):
        found.append(f"dotted lines stand where {CUT_MIN} or more operations are left out")
    bare = sum(not band.label for strip in strips for band in strip.bands)
    if bare:
        found.append(f"{bare:,} of the faults and leader epochs say what they are when pointed at")
    return found


# -- Where it is drawn


def _places(chosen: Sequence[Operation], moments: Sequence[int]) -> list[float]:
    """The distance of each moment from the first: far enough that the bars hold their words."""
    rank = {moment: at for at, moment in enumerate(moments)}
    gaps = [float(GAP_MIN)] * len(moments)
    total = [0.0] * (len(moments) + 1)
    by_end: dict[int, list[Operation]] = {}
    for operation in chosen:
        end = operation.completed
        known = end is not None and until(operation) < inf
        last = rank[end] if end is not None and known else rank[operation.invoked] + 1
        by_end.setdefault(min(last, len(moments) - 1), []).append(operation)
    for at in range(1, len(moments) + 1):
        for operation in by_end.get(at, ()) if at < len(moments) else ():
            begin = rank[operation.invoked]
            need = len(words.short(operation)) * CHARACTER + _PAD
            room = total[at - 1] + gaps[at - 1] - total[begin] if begin < at else need
            gaps[at - 1] += max(0.0, need - room)
        total[at] = total[at - 1] + gaps[at - 1]
    return total[: len(moments)]


def _breaks(places: Sequence[float]) -> list[tuple[int, int]]:
    """The moments [low, high] of each strip; a strip begins where the last one ended."""
    room = WIDTH - LEFT - 70
    found = []
    low = 0
    while low < len(places):
        high = max(bisect_right(places, places[low] + room) - 1, low)
        if high == low and low + 1 < len(places):
            high = low + 1
        found.append((low, high))
        if high >= len(places) - 1:
            break
        low = high
    return found


def _rows(operations: Sequence[Operation]) -> dict[int, tuple[int, int]]:
    """By operation, its process and the number of the row among those of the process.

    Operations of one process that overlap, as those of a transaction do, must not hide each other.
    """
    found: dict[int, tuple[int, int]] = {}
    ends: dict[int, list[float]] = {}
    for each in sorted(operations, key=lambda o: (o.invoked, o.index)):
        taken = ends.setdefault(each.process, [])
        level = next((at for at, end in enumerate(taken) if end <= each.invoked), len(taken))
        taken[level : level + 1] = [until(each)]
        found[each.index] = each.process, level
    return found


class _Scene(NamedTuple):
    """What all strips have in common."""

    history: History
    chosen: list[Operation]
    moments: list[int]
    places: list[float]
    certificate: Sequence[int]
    annotations: list[Annotation]
    related: Sequence[Operation]

    @property
    def hidden(self) -> int:
        """Annotations for which no strip has a lane."""
        return max(0, len(_lanes(self.annotations)[1]))

    def strip(self, low: int, high: int, points: Mapping[int, Point]) -> Strip:
        begin, end = self.moments[low], self.moments[high]
        is_last = high == len(self.moments) - 1
        inside = [
            o
            for o in self.chosen
            if o.invoked <= end
            and until(o) >= begin
            and (o.invoked < end or is_last or low == high)
            and (until(o) > begin or low == 0)
            and (o.invoked >= begin or until(o) < inf or self._goes_on(o, low, points))
        ]
        row_of = _rows(inside)
        rows = sorted({*row_of.values()})
        scale = self._scale(low, high)
        bands, lanes = self._bands(low, high, scale)
        top = 6 + LANE * lanes
        y_of = {row: top + ROW * at for at, row in enumerate(rows)}
        bars = tuple(self._bar(o, low, high, scale, y_of[row_of[o.index]]) for o in inside)
        drawn = {o.index for o in inside}
        here = tuple(
            point._replace(
                x=LEFT + (point.x - self.places[low]) * scale,
                y=y_of[row_of[point.operation]] + (ROW + BAR) / 2 - 2,
            )
            for point in points.values()
            if point.operation in drawn
            and self.places[low] <= point.x
            and (point.x < self.places[high] or is_last)
        )
        return Strip(
            height=top + ROW * len(rows) + 24,
            top=top,
            rows=tuple(Row(process, y_of[process, level]) for process, level in rows),
            bars=bars,
            ticks=tuple(self._ticks(low, high, scale)),
            bands=bands,
            cuts=tuple(self._cuts(low, high, scale)),
            points=tuple(sorted(here, key=lambda point: point.rank)),
        )

    def _goes_on(self, operation: Operation, low: int, points: Mapping[int, Point]) -> bool:
        """Whether an indeterminate operation of an earlier strip matters in this one."""
        point = points.get(operation.index)
        late = point is not None and point.x >= self.places[low]
        return late or operation.index in self.certificate

    def _scale(self, low: int, high: int) -> float:
        """Strips other than a short last one are stretched to the same width."""
        length = self.places[high] - self.places[low]
        room = WIDTH - LEFT - 70
        return min(room / length, 2.0) if length else 1.0

    def _x(self, moment: int, low: int, scale: float) -> float:
        """The place of a time between moments: that of the next moment, or half-way to it."""
        at = bisect_left(self.moments, moment)
        if at < len(self.moments) and self.moments[at] == moment:
            place = self.places[at]
        elif at == 0:
            place = self.places[0] - 4
        elif at == len(self.moments):
            place = self.places[-1] + 4
        else:
            place = (self.places[at - 1] + self.places[at]) / 2
        return LEFT + (place - self.places[low]) * scale

    def _bar(self, operation: Operation, low: int, high: int, scale: float, y: float) -> Bar:
        begin, stop = self.moments[low], self.moments[high]
        end = until(operation)
        first = operation.invoked >= begin
        last = end <= stop
        right = LEFT + (self.places[high] - self.places[low]) * scale
        x = self._x(operation.invoked, low, scale) if first else float(LEFT)
        if last:
            width = self._x(int(end), low, scale) - x
        else:
            width = right - x + (60 if high == len(self.moments) - 1 else 8)
        width = max(width, 3.0)
        number = 0
        if operation.index in self.certificate:
            number = list(self.certificate).index(operation.index) + 1
        room = int((width - 6) / CHARACTER)
        label = words.short(operation)
        label = label if len(label) <= room else (label[: room - 1] + "…" if room > 2 else "")
        return Bar(
            operation=operation.index,
            x=round(x, 1),
            y=y + (ROW - BAR) / 2,
            width=round(width, 1),
            outcome=operation.outcome,
            first=first,
            last=last,
            label=label,
            hint=words.sentence(operation, self.history),
            number=number,
            shape=_shape(operation.outcome, x, y + (ROW - BAR) / 2, width),
        )

    def _ticks(self, low: int, high: int, scale: float) -> list[Tick]:
        """Times below the rows, as many as have room."""
        ticks: list[Tick] = []
        free = -1.0
        for at in range(low, high + 1):
            x = LEFT + (self.places[at] - self.places[low]) * scale
            label = words.when(self.moments[at], self.history)
            if x >= free:
                ticks.append(Tick(round(x, 1), label))
                free = x + len(label) * 6 + 24
        return ticks

    def _cuts(self, low: int, high: int, scale: float) -> list[Cut]:
        """Where many operations that are not drawn were invoked between two moments."""
        if len(self.related) == len(self.chosen):
            return []
        drawn = {o.index for o in self.chosen}
        invoked = sorted(o.invoked for o in self.related if o.index not in drawn)
        cuts: list[Cut] = []
        free = 0.0
        for at in range(low, high):
            count = bisect_right(invoked, self.moments[at + 1]) - bisect_right(
                invoked, self.moments[at]
            )
            if count >= CUT_MIN:
                place = (self.places[at] + self.places[at + 1]) / 2 - self.places[low]
                x = round(LEFT + place * scale, 1)
                label = f"{count:,} left out" if x >= free else ""
                if label:
                    free = x + len(label) * SMALL_CHARACTER + _PAD
                cuts.append(Cut(x, count, label))
        return cuts

    def _bands(self, low: int, high: int, scale: float) -> tuple[tuple[Band, ...], int]:
        """Annotations in their lanes above the rows, and how many lanes there are."""
        begin, stop = self.moments[low], self.moments[high]
        here = [a for a in self.annotations if a.at <= stop and (a.until or a.at) >= begin]
        placed, _ = _lanes(here)
        bands: list[Band] = []
        taken: list[list[tuple[float, float]]] = [[] for _ in range(LANES_MAX)]
        for annotation, lane in placed:
            x = max(self._x(annotation.at, low, scale), float(LEFT))
            width = 0.0
            if annotation.until is not None:
                limit = LEFT + (self.places[high] - self.places[low]) * scale
                width = max(min(self._x(annotation.until, low, scale), limit) - x, 2.0)
            to = f" to {words.when(annotation.until, self.history)}" if width else ""
            at = words.when(annotation.at, self.history)
            anchor = "end" if x > WIDTH - 180 else "start"
            bands.append(
                Band(
                    x=round(x, 1),
                    width=round(width, 1),
                    y=4.0 + LANE * lane,
                    kind="epoch" if annotation.kind == "leader epoch" else "fault",
                    label=_label(words.cut(annotation.label, 28), x, anchor, taken[lane]),
                    anchor=anchor,
                    hint=f"{annotation.kind}: {words.cut(annotation.label)}, {at}{to}",
                )
            )
        return tuple(bands), max((lane + 1 for _, lane in placed), default=0)


def _label(label: str, x: float, anchor: str, taken: list[tuple[float, float]]) -> str:
    """The label if it covers no other of its lane, and then its place is taken; else nothing."""
    width = len(label) * SMALL_CHARACTER + _PAD
    begin, end = (x, x + width) if anchor == "start" else (x - width, x)
    if any(begin < other_end and other_begin < end for other_begin, other_end in taken):
        return ""
    taken.append((begin, end))
    return label


def _lanes(
    annotations: Sequence[Annotation],
) -> tuple[list[tuple[Annotation, int]], list[Annotation]]:
    """Each annotation with a lane in which it covers no other, and those without one."""
    free: list[int] = []
    placed, hidden = [], []
    for annotation in annotations:
        lane = next((at for at, end in enumerate(free) if end < annotation.at), len(free))
        if lane >= LANES_MAX:
            hidden.append(annotation)
            continue
        if lane == len(free):
            free.append(0)
        free[lane] = annotation.until or annotation.at
        placed.append((annotation, lane))
    return placed, hidden


def _shape(outcome: str, x: float, y: float, width: float) -> str:
    """The outline of a bar: ok is a box, indeterminate an arrow, failed is notched at both ends."""
    right, middle, bottom = x + width, y + BAR / 2, y + BAR
    cut = min(6.0, width / 3)
    if outcome == INDETERMINATE:
        corners = [(x, y), (right - cut, y), (right, middle), (right - cut, bottom), (x, bottom)]
    elif outcome == OK:
        corners = [(x, y), (right, y), (right, bottom), (x, bottom)]
    else:
        corners = [(x, y), (right, y), (right - cut, middle), (right, bottom), (x, bottom)]
        corners.append((x + cut, middle))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in corners)


def _points(
    chosen: Collection[Operation],
    witness: Sequence[int],
    moments: Sequence[int],
    places: Sequence[float],
) -> dict[int, Point]:
    """A point for every drawn operation of the witness, inside its bar and in the witness' order.

    Each takes effect as early as it can: when it was invoked, or just after the one before it.
    """
    drawn = {o.index: o for o in chosen}
    rank = {moment: at for at, moment in enumerate(moments)}
    order = [(at, drawn[index]) for at, index in enumerate(witness) if index in drawn]
    base = 0
    groups: dict[int, list[tuple[int, Operation]]] = {}
    for at, operation in order:
        base = max(base, rank[operation.invoked])
        groups.setdefault(base, []).append((at, operation))
    found = {}
    for base, members in groups.items():
        left = places[base]
        right = places[base + 1] if base + 1 < len(places) else left + 20
        for nth, (at, operation) in enumerate(members, 1):
            x = left + (right - left) * nth / (len(members) + 1)
            found[operation.index] = Point(x, 0.0, at + 1, operation.index)
    return found
