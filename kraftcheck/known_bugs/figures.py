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


def quantile(figure: Figure, q: float) -> float:
    """Give the smallest number of runs by which this share of the campaigns had found it.

    Infinite when they had not within the limit.
    """
    ranked = _ranked(figure.runs)
    return ranked[max(1, ceil(q * len(ranked))) - 1]


def median_interval(figure: Figure) -> tuple[float, float] | None:
    """Two order statistics that hold the median with CONFIDENCE; None: too few campaigns."""
    ranked = _ranked(figure.runs)
    count = len(ranked)
    # Between the ranks k and n + 1 - k: the chance that fewer than k of n fall on either side.
    best = None
    for k in range(1, count // 2 + 1):
        outside = 2 * sum(comb(count, i) for i in range(k)) / 2**count
        if 1 - outside >= CONFIDENCE:
            best = k
    return None if best is None else (ranked[best - 1], ranked[count - best])


def _ranked(runs: Sequence[int | None]) -> list[float]:
    return sorted(inf if each is None else each for each in runs)


def in_words(figure: Figure) -> str:
    """The figure on little room, such as `median 4 (2 to 9), p90 17; 20 campaigns`."""
    count = len(figure.runs)
    missed = sum(each is None for each in figure.runs)
    interval = median_interval(figure)
    between = "" if interval is None else f" ({_dashed(*interval, figure.limit)})"
    said = f"median {_number(quantile(figure, 0.5), figure.limit)}{between}"
    said += f", p90 {_number(quantile(figure, 0.9), figure.limit)}"
    said += f"; {count} campaign{'s' if count != 1 else ''}"
    return f"{said}, {missed} without" if missed else said


def _dashed(low: float, high: float, limit: int) -> str:
    return f"{_number(low, limit)} to {_number(high, limit)}"


def _number(runs: float, limit: int) -> str:
    return f">{limit:,}" if runs == inf else f"{runs:,.0f}"
