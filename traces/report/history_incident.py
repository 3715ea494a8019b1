"""What clients went through over the whole time: latency and rate of writes, faults shaded.

A history of a recorded cluster has thousands of operations, of which the first sixty say nothing.
So all of its writes are drawn, as Jepsen's plots do: each as a point where it began, as high as it
took; below, how many were acknowledged in each second. Then of each fault: for how long no write
was acknowledged, and the time around it drawn larger.

Writes are appends; in a history without appends, all operations. Where keys are several
(partitions), a fault is told of the one that stood longest, for the others hide it.

Points that would lie on one another are drawn once, so a page has a bounded size whatever the
history has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final, NamedTuple

from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, Annotation, History, Operation
from kraftcheck.traces.report import history_words as words

LEFT: Final = 64
WIDTH: Final = 1000
LATENCY: Final = 150
"""Height of the upper panel."""
RATE: Final = 80
"""Height of the lower one."""
GAP: Final = 16
FOOT: Final = 34
LANE: Final = 15
LANES_MAX: Final = 4
CHARACTER: Final = 6.2
GRAIN: Final = 3
"""Points that fall into one square of so many units are one."""
BUCKETS: Final = 90
BUCKET_S: Final = 0.25
"""A rate over less says little."""
OPERATIONS_MIN: Final = 60
"""A shorter history is drawn operation by operation."""
SHORTEST_S: Final = 0.25
"""Of a window around a fault."""
LONG: Final = 4
"""A fault that lasts longer than so many of its silences is not drawn to its end."""
LONGEST_GAPS: Final = 8
"""Of so many faults there is a window of its own; the longest silences first."""
OUTCOMES: Final = (OK, INDETERMINATE, FAIL)
UNITS: Final = {"ns": 10**9, "us": 10**6}
_STEPS: Final = (1, 2, 5)


class Tick(NamedTuple):
    at: float
    label: str


class Shade(NamedTuple):
    """A fault as a band."""

    x: float
    width: float
    y: float
    label: str
    """Empty where there is no room for it, the hint has it."""
    hint: str


class Dots(NamedTuple):
    """All writes of one outcome, as the path of an SVG element."""

    outcome: str
    path: str


class Chart(NamedTuple):
    """Two panels above one axis of time.

    top, floor: of the upper;
    """

    height: float
    top: float
    floor: float
    base: float
    """Of the lower."""
    dots: tuple[Dots, ...]
    acknowledged: str
    unacknowledged: str
    shades: tuple[Shade, ...]
    epochs: tuple[Tick, ...]
    seconds: tuple[Tick, ...]
    latencies: tuple[Tick, ...]
    rates: tuple[Tick, ...]


class Outage(NamedTuple):
    """A fault, and what writers went through."""

    label: str
    at: str
    lasted: str
    silent: str
    """The longest time, touching the fault, in which no write was acknowledged."""
    key: str | None
    """Of the partition that stood so long, where there are several."""
    slowest: str
    """Of the writes that began during it and were acknowledged."""
    indeterminate: int
    failed: int
    chart: Chart | None


class Incident(NamedTuple):
    noun: str
    """What is drawn."""
    writes: int
    chart: Chart
    outages: tuple[Outage, ...]
    elsewhere: str
    """The longest silence that touches no fault."""


def incident(history: History) -> Incident | None:
    """None for a history without a clock, and for one that is short enough to be read whole."""
    per_second = UNITS.get(history.time_unit)
    if per_second is None or len(history.operations) <= OPERATIONS_MIN:
        return None
    appends = [o for o in history.operations if o.f == "append"]
    writes = appends or list(history.operations)
    faults = [each for each in history.annotations if each.kind == "fault"]
    begin, end = writes[0].invoked, max(o.completed or o.invoked for o in writes)
    if end <= begin:
        return None
    scene = _Scene(history, writes, faults, per_second, end)
    silences = {key: _silences(writes, key) for key in sorted({o.key or "" for o in writes})}
    touched = [_outage(scene, fault, silences) for fault in faults]
    longest = sorted(range(len(touched)), key=lambda at: -_long(touched[at][1]))[:LONGEST_GAPS]
    outages = tuple(
        outage._replace(chart=scene.chart(*_window(scene, faults[at], silence)))
        if at in longest
        else outage
        for at, (outage, silence) in enumerate(touched)
    )
    return Incident(
        noun="appends" if appends else "operations",
        writes=len(writes),
        chart=scene.chart(begin, end),
        outages=outages,
        elsewhere=scene.said(_elsewhere(silences, faults, end)),
    )


# -- Silences

Silence = tuple[int, int]


def _silences(writes: Iterable[Operation], key: str) -> list[Silence]:
    """The times between acknowledgements of one key's writes, from its first write to its last."""
    own = [o for o in writes if (o.key or "") == key]
    told = sorted(o.completed for o in own if o.outcome == OK and o.completed is not None)
    moments = [own[0].invoked, *told, max(own[-1].invoked, told[-1] if told else 0)]
    return list(pairwise(moments))


def _long(silence: Silence) -> int:
    return silence[1] - silence[0]


def _touching(silences: Sequence[Silence], begin: int, end: int) -> list[Silence]:
    low = bisect_left(silences, begin, key=lambda each: each[1])
    high = bisect_right(silences, end, key=lambda each: each[0])
    return list(silences[low:high])


def _elsewhere(silences: dict[str, list[Silence]], faults: Sequence[Annotation], end: int) -> int:
    known = {
        (key, each)
        for fault in faults
        for key, own in silences.items()
        for each in _touching(own, fault.at, _until(fault, end))
    }
    return max(
        (
            high - low
            for key, own in silences.items()
            for low, high in own
            if (key, (low, high)) not in known
        ),
        default=0,
    )


def _until(fault: Annotation, end: int) -> int:
    """The end of a fault as far as there are writes."""
    return fault.at if fault.until is None else min(fault.until, max(end, fault.at))


def _outage(
    scene: _Scene, fault: Annotation, silences: dict[str, list[Silence]]
) -> tuple[Outage, Silence]:
    """The fault in words, and its longest silence."""
    until = _until(fault, scene.end)
    of_keys = {
        key: max(_touching(own, fault.at, until), key=_long, default=(fault.at, fault.at))
        for key, own in silences.items()
    }
    worst = max(of_keys, key=lambda key: _long(of_keys[key]))
    meanwhile = [o for o in scene.writes if fault.at <= o.invoked <= until]
    took = [o.completed - o.invoked for o in meanwhile if o.outcome == OK and o.completed]
    outage = Outage(
        label=fault.label,
        at=scene.said(fault.at),
        lasted=scene.said((fault.until or fault.at) - fault.at),
        silent=scene.said(_long(of_keys[worst])),
        key=worst if len(silences) > 1 else None,
        slowest=scene.said(max(took)) if took else "",
        indeterminate=sum(o.outcome == INDETERMINATE for o in meanwhile),
        failed=sum(o.outcome == FAIL for o in meanwhile),
        chart=None,
    )
    return outage, of_keys[worst]


def _window(scene: _Scene, fault: Annotation, silence: Silence) -> tuple[int, int]:
    """From before the fault to after the silence, and to after the fault where it is short."""
    until, silent = _until(fault, scene.end), _long(silence)
    around = max(silent, int(SHORTEST_S * scene.per_second))
    over = silence[1] if until - fault.at > LONG * around else max(silence[1], until)
    first = min(fault.at, silence[0]) if silent else fault.at
    return max(scene.writes[0].invoked, first - around), min(scene.end, over + around)


# -- Where it is drawn


class _Scene(NamedTuple):
    history: History
    writes: list[Operation]
    faults: list[Annotation]
    per_second: int
    end: int

    def said(self, length: int) -> str:
        """A length of time, to a millisecond: nobody reads more digits of an outage."""
        grain = self.per_second // 1000
        length = round(length / grain) * grain if length >= grain else length
        return words.duration(length, self.history.time_unit)

    def chart(self, begin: int, end: int) -> Chart:
        """The writes that began in [begin, end]."""
        end = max(end, begin + 1)
        across = (WIDTH - LEFT - 8) / (end - begin)
        inside = [o for o in self.writes if begin <= o.invoked <= end]
        shades, lanes = self._shades(begin, end, across)
        top = 6.0 + LANE * lanes
        low, high = self._decades(inside)
        tall = LATENCY / (high - low)

        def x_of(moment: int) -> float:
            return LEFT + (moment - begin) * across

        def y_of(operation: Operation) -> float:
            milliseconds = self._took(operation)
            return top + LATENCY - (log10(max(milliseconds, 10.0**low)) - low) * tall

        ground = top + LATENCY
        base = ground + GAP + RATE
        lines, rates = self._rates(inside, begin, end, base)
        return Chart(
            height=base + FOOT,
            top=top,
            floor=ground,
            base=base,
            dots=tuple(
                Dots(outcome, _path((x_of(o.invoked), y_of(o)) for o in those))
                for outcome in OUTCOMES
                if (those := [o for o in inside if o.outcome == outcome])
            ),
            acknowledged=lines[0],
            unacknowledged=lines[1],
            shades=shades,
            epochs=tuple(
                Tick(round(x_of(each.at), 1), each.label)
                for each in self.history.annotations
                if each.kind != "fault" and begin <= each.at <= end
            ),
            seconds=tuple(
                Tick(round(x_of(int(each * self.per_second)), 1), f"{each:g}")
                for each in _ticks(begin / self.per_second, end / self.per_second, 9)
            ),
            latencies=tuple(
                Tick(round(ground - (power - low) * tall, 1), _milliseconds(power))
                for power in range(low, high + 1)
            ),
            rates=rates,
        )

    def _took(self, operation: Operation) -> float:
        """Milliseconds until an answer; to the end, where none ever came."""
        over = self.end if operation.completed is None else operation.completed
        return (over - operation.invoked) * 1000 / self.per_second

    def _decades(self, inside: Sequence[Operation]) -> tuple[int, int]:
        """The powers of ten, of milliseconds, between which all of them took."""
        took = [max(self._took(o), 0.001) for o in inside] or [1.0]
        low, high = floor(log10(min(took))), ceil(log10(max(took)))
        return low, max(high, low + 1)

    def _shades(self, begin: int, end: int, across: float) -> tuple[tuple[Shade, ...], int]:
        """Faults in the window, and in how many lanes their labels stand."""
        found, ends = [], [0.0] * LANES_MAX
        used = 0
        for each in self.faults:
            until = _until(each, self.end)
            if until < begin or each.at > end:
                continue
            x = LEFT + max(0, each.at - begin) * across
            right = LEFT + (min(until, end) - begin) * across
            label = words.cut(each.label, 40)
            room = len(label) * CHARACTER + 6
            x_label = min(x, WIDTH - room)
            lane = next((at for at, taken in enumerate(ends) if taken <= x_label), None)
            if lane is not None:
                ends[lane], used = x_label + room, max(used, lane + 1)
            hint = f"{words.cut(each.label)}: {words.when(each.at, self.history)} to "
            hint += words.when(each.until or each.at, self.history)
            y = 6.0 + LANE * (lane or 0)
            shown = label if lane is not None else ""
            found.append(Shade(round(x, 1), round(max(1.5, right - x), 1), y, shown, hint))
        return tuple(found), used

    def _rates(
        self, inside: Sequence[Operation], begin: int, end: int, base: float
    ) -> tuple[tuple[str, str], tuple[Tick, ...]]:
        """Lines of what was acknowledged and of what was not, for each second."""
        many = max(1, min(BUCKETS, int((end - begin) / (BUCKET_S * self.per_second))))
        wide = (end - begin) / many
        counts = [[0] * many, [0] * many]
        for each in inside:
            moment = each.completed if each.completed is not None else each.invoked
            if moment <= end:
                at = min(many - 1, int((moment - begin) / wide))
                counts[each.outcome != OK][at] += 1
        seconds = wide / self.per_second
        most = max(max(counts[0]), max(counts[1]), 1) / seconds
        ticks = [each for each in _ticks(0, most, 3) if each]
        across = (WIDTH - LEFT - 8) / many

        def line(numbers: Sequence[int]) -> str:
            if not any(numbers):
                return ""
            return " ".join(
                f"{LEFT + (at + side) * across:.1f},{base - number / seconds / most * RATE:.1f}"
                for at, number in enumerate(numbers)
                for side in (0, 1)
            )

        marks = tuple(
            Tick(round(base - each / most * RATE, 1), _per_second(each)) for each in ticks
        )
        return (line(counts[0]), line(counts[1])), marks


def _path(places: Iterable[tuple[float, float]]) -> str:
    """Small squares, each once, and those side by side as one."""
    squares = sorted({(round(y / GRAIN), round(x / GRAIN)) for x, y in places})
    bars: list[tuple[int, int, int]] = []
    for y, x in squares:
        if bars and bars[-1][0] == y and sum(bars[-1][1:]) == x:
            bars[-1] = (y, bars[-1][1], bars[-1][2] + 1)
        else:
            bars.append((y, x, 1))
    return "".join(
        f"M{x * GRAIN - 1} {y * GRAIN - 1}h{many * GRAIN}v{GRAIN}h-{many * GRAIN}z"
        for y, x, many in bars
    )


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers in [low, high], at most so many."""
    span = (high - low) or 1.0
    power = 10.0 ** floor(log10(span / most))
    step = next(
        size
        for size in (factor * scale for scale in (power, power * 10) for factor in _STEPS)
        if span / size <= most
    )
    first = ceil(low / step - 1e-9)
    return [round(k * step, 9) for k in range(first, floor(high / step + 1e-9) + 1)]


def _per_second(rate: float) -> str:
    return f"{rate / 1000:,g}k/s" if rate >= 1000 else f"{rate:g}/s"


def _milliseconds(power: int) -> str:
    if power >= 3:
        return f"{10 ** (power - 3):,} s"
    return f"{10**power} ms" if power >= 0 else f"{10 ** (power + 3)} µs"
