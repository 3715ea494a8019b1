"""How a figure is distributed over many logs: quantiles, and bins on a logarithmic scale.

Bins are the same for all figures and campaigns (1, 2, 5, 10, 20 ...), so that two campaigns can be
laid beside each other.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from kraftcheck.traces.jobs.arrays import Ints

EDGES: Final = [step * 10**power for power in range(18) for step in (1, 2, 5)]
"""Where bins begin; zero has one of its own."""
QUANTILES: Final = (50, 90, 99)


def distribution(values: Ints) -> dict[str, Any]:
    """Of values from 0 on, at least one: how many, how many are zero, sum, quantiles, maximum, and
    bins as [from, below, how many] without empty ones at either end.

    A quantile is the smallest value that so many per cent do not exceed.
    """
    ordered = np.sort(values)
    count = len(ordered)
    quantiles = {f"p{q}": int(ordered[max(-(-count * q // 100) - 1, 0)]) for q in QUANTILES}
    places = np.searchsorted(EDGES, ordered[ordered > 0], side="right")
    counts = np.bincount(places, minlength=1)
    used = np.flatnonzero(counts)
    bins = []
    if len(used):
        for place in range(int(used[0]), int(used[-1]) + 1):
            below = EDGES[place] if place < len(EDGES) else EDGES[-1] * 10
            bins.append([EDGES[place - 1], below, int(counts[place])])
    return {
        "count": count,
        "zero": int((ordered == 0).sum()),
        "sum": int(ordered.sum()),
        **quantiles,
        "most": int(ordered[-1]),
        "bins": bins,
    }
