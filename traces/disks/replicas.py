"""Replicas of one partition, side by side: whether they agree on what is committed.

Below the least high watermark that was written down, replicas have the same batches (LogMatching):
what differs there is violated. Above it they may part, until the one that follows truncates: a
report. What a cleaner was at work in has other batches on each broker, and is not compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from traces.disks.partition import Finding, Found, Weight


def compare(replicas: Sequence[Found]) -> list[Finding]:
    """What is wrong between them; nothing of one alone."""
    found = []
    for one, other in combinations(replicas, 2):
        if not (one.compacted or other.compacted):
            found += _matching(one, other)
    return found


def _matching(one: Found, other: Found) -> list[Finding]:
    """The first offset at which they part, and whether it is committed."""
    begin = max(one.start, other.start)
    ours, theirs = [each.batches[each.batches[:, 1] >= begin] for each in (one, other)]
    count = min(len(ours), len(theirs))
    apart = np.flatnonzero((ours[:count] != theirs[:count]).any(axis=1))
    if not apart.size:
        return _lacking(one, other)
    at = int(apart[0])
    epochs = f"epochs {ours[at, 2]} and {theirs[at, 2]}"
    return [_finding(one, other, int(min(ours[at, 0], theirs[at, 0])), epochs)]


def _lacking(one: Found, other: Found) -> list[Finding]:
    """A replica that ends below what was written down as committed may be one that lags: that it is
    in the ISR only metadata tells."""
    committed = _committed(one, other)
    short = min(one, other, key=lambda each: each.end)
    if committed is None or short.end >= committed:
        return []
    said = f"{short.folder} ends at {short.end}, and {committed} was committed"
    return [Finding("report", "LogMatching", "", -1, said)]


def _committed(one: Found, other: Found) -> int | None:
    """The highest offset below which everything was committed, as far as either has noted."""
    marks = [each.high_watermark for each in (one, other) if each.high_watermark is not None]
    return max(marks, default=None)


def _finding(one: Found, other: Found, offset: int, said: str) -> Finding:
    marks = [each.high_watermark for each in (one, other)]
    least = None if None in marks else min(mark for mark in marks if mark is not None)
    weight: Weight = "violated" if least is not None and offset < least else "report"
    where = "below" if weight == "violated" else "not below"
    return Finding(
        weight,
        "LogMatching",
        "",
        -1,
        f"{one.folder} and {other.folder} part at offset {offset} ({said}), {where} the least high "
        f"watermark {'of both' if least is None else least}",
    )
