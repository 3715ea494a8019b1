"""How many runs it takes to find a bug: measured in campaigns, told as median and intervals.

A campaign is a seed; its figure is the number of runs, from 1, up to and including the first in
which an oracle finds the bug. A campaign that ends without is censored: all that is known is that
its figure is larger than the limit. measured.json beside this file holds the figures of
`bugs campaigns` with machine and date.

Law of this file: nothing is estimated from a distribution that nobody has checked. The interval of
the median is between two order statistics (binomial, at least 95 percent), and a rank among the
censored is told as "more than the limit".
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, inf
from pathlib import Path

import msgspec

from kraftcheck import artifacts

STORED = Path(__file__).resolve().with_name("measured.json")
CAMPAIGNS = 20
"""So many campaigns make a figure; with fewer it is called partial."""
CONFIDENCE = 0.95
"""The least chance that an interval holds the quantile. Each side may miss by half of the rest."""


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Campaigns of one bug, one generator and one oracle."""

    limit: int
    """Runs of a campaign."""
    runs: list[int | None]
    """By campaign, from seed 1 on, the number of runs to the first detection; None: none within the
    limit.
    """


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """measured.json.

    machine, date: where and when, in words.
    """

    machine: str = ""
    date: str = ""
    generator: str = "seeded campaigns of the simulator"
    figures: dict[str, dict[str, Figure]] = {}
    """By bug, by oracle."""


def load(path: Path = STORED) -> Measured:
    """The stored figures, or none. Raises BadInput: the file is damaged."""
    return artifacts.stored(path, Measured)


def store(measured: Measured, path: Path = STORED) -> None:
    """Write the file, one bug a line, in order, as a whole."""
    encode = msgspec.json.Encoder(order="sorted").encode
    lines = [f'  "{bug}": {encode(found).decode()}' for bug, found in measured.figures.items()]
    about = {name: getattr(measured, name) for name in ("date", "generator", "machine")}
    head = encode(about).decode()[1:-1]
    body = ",\n".join(sorted(lines))
    artifacts.write_whole(path, f'{{{head},\n"figures": {{\n{body}\n}}}}\n')


# -- What the figures say


def ranked(samples: Sequence[float | None]) -> list[float]:
    """In order; None, which stands for "not within the limit", is infinite and comes last."""
    return sorted(inf if each is None else each for each in samples)


def quantile(samples: Sequence[float | None], q: float) -> float:
    """The smallest sample at or below which at least the share q of them lies."""
    return ranked(samples)[max(1, ceil(q * len(samples))) - 1]


def interval(samples: Sequence[float | None], q: float) -> tuple[float, float]:
    """Give two samples that hold the q-quantile with CONFIDENCE.

    How many of n samples lie below the q-quantile is binomial (n, q), so two ranks hold it with a
    known chance (David and Nagaraja, "Order Statistics", section 7.1). A side is 0 or infinite
    where even the smallest or the largest sample does not bound it.
    """
    count, order = len(samples), ranked(samples)
    half = (1 - CONFIDENCE) / 2
    below = [_at_most(k, count, q) for k in range(count)]
    # The k-th sample is above the quantile with the chance that fewer than k samples are below it.
    low = max((k for k in range(1, count + 1) if below[k - 1] <= half), default=0)
    high = min((k for k in range(1, count + 1) if 1 - below[k - 1] <= half), default=0)
    return (order[low - 1] if low else 0.0, order[high - 1] if high else inf)


def _at_most(k: int, count: int, q: float) -> float:
    """The chance of at most k of `count` trials, each with the chance q."""
    return sum(comb(count, i) * q**i * (1 - q) ** (count - i) for i in range(k + 1))


def in_words(figure: Figure) -> str:
    """The figure on little room, such as `median 4 (2 to 9), p90 17; 20 campaigns`."""
    count = len(figure.runs)
    missed = sum(each is None for each in figure.runs)
    low, high = interval(figure.runs, 0.5)
    between = f" ({_dashed(low, high, figure.limit)})" if low else ""
    said = f"median {_number(quantile(figure.runs, 0.5), figure.limit)}{between}"
    said += f", p90 {_number(quantile(figure.runs, 0.9), figure.limit)}"
    said += f"; {count} campaign{'s' if count != 1 else ''}"
    return f"{said}, {missed} without" if missed else said


def _dashed(low: float, high: float, limit: int) -> str:
    return f"{_number(low, limit)} to {_number(high, limit)}"


def _number(runs: float, limit: int) -> str:
    return f">{limit:,}" if runs == inf else f"{runs:,.0f}"
