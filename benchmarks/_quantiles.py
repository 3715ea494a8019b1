"""Quantiles of few, partly censored numbers, with intervals between order statistics.

No distribution is assumed: how many of n samples lie below the q-quantile is binomial (n, q), so
two ranks hold it with a known chance (David and Nagaraja, "Order Statistics", section 7.1). A
sample that ended without is larger than any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, inf

CONFIDENCE = 0.95
"""The least chance that an interval holds the quantile. Each side may miss by half of the rest."""


def ranked(samples: Sequence[float | None]) -> list[float]:
    """In order; None, which stands for "not within the limit", is infinite and comes last."""
    return sorted(inf if each is None else each for each in samples)


def quantile(samples: Sequence[float | None], q: float) -> float:
    """The smallest sample at or below which at least the share q of them lies."""
    return ranked(samples)[max(1, ceil(q * len(samples))) - 1]


def interval(samples: Sequence[float | None], q: float) -> tuple[float, float]:
    """Give two samples that hold the q-quantile with CONFIDENCE.

    A side is 0 or infinite where even the smallest or the largest sample does not bound it.
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
