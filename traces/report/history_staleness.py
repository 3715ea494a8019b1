"""How stale reads were, as two small figures: by time (Δ) and by records missed (k).

Buckets are powers of ten for times and of two for counts: what matters is whether reads lag by
milliseconds or by minutes, by a record or by thousands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kraftcheck.traces.report import history_words as words
from kraftcheck.traces.report.figures import Bar
from kraftcheck.traces.report.judged import Staleness


class Lag(NamedTuple):
    key: str | None
    reads: int
    stale: int
    longest: str
    most: int
    delays: tuple[Bar, ...]
    missed: tuple[Bar, ...]


def lags(staleness: Iterable[Staleness], unit: str) -> list[Lag]:
    """Of each partition with stale reads, the longest lag first."""
    found = [
        Lag(
            key=each.key,
            reads=each.reads,
            stale=max(len(each.delays), len(each.missed)),
            longest=words.duration(max(each.delays, default=0), unit),
            most=max(each.missed, default=0),
            delays=_buckets(each.delays, 10, lambda size: f"< {words.duration(size, unit)}"),
            missed=_buckets(each.missed, 2, _up_to),
        )
        for each in sorted(staleness, key=lambda each: -max(each.delays, default=0))
    ]
    return [each for each in found if each.stale]


def _up_to(size: int) -> str:
    """The counts in [size / 2, size)."""
    low, high = size // 2, size - 1
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _buckets(values: Iterable[int], base: int, label: Callable[[int], str]) -> tuple[Bar, ...]:
    """How many values lie below each power of `base` and not below the one before."""
    counts: Counter[int] = Counter()
    for value in values:
        power = 0
        while base**power <= value:
            power += 1
        counts[power] += 1
    if not counts:
        return ()
    most = max(counts.values())
    return tuple(
        Bar(label(base**power), counts[power] / most, f"{counts[power]:,}")
        for power in range(min(counts), max(counts) + 1)
    )
