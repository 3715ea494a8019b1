"""Replicas of one partition, side by side: whether they agree on what is committed.

Below the least high watermark that was written down, replicas have the same batches (LogMatching):
what differs there is violated. Above it they may part, until the one that follows truncates: a
report. Where a cleaner was at work batches are missing, on each broker others: those that are there
are compared, without what is in them, and then the last value of each key (compacted.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec
import numpy as np

from traces.disks import compacted
from traces.disks.files import Table
from traces.disks.found import Finding, Found, Judged, Parting, Weight
from traces.disks.voters import electable


def judged(topic: str, partition: int, replicas: Sequence[Found]) -> Judged:
    """All that there is to say of a partition. What it took to compare them is forgotten."""
    parted = partings(replicas)
    together = _wrong(replicas, parted)
    none = np.empty((0, 4), dtype=np.int64)
    lean = [msgspec.structs.replace(each, batches=none) for each in replicas]
    return Judged(topic, partition, lean, parted, together)


def partings(replicas: Sequence[Found]) -> list[Parting]:
    """Of any two of them the first."""
    found = [_parting(one, other) for one, other in _pairs(replicas)]
    return [each for each in found if each is not None]


def _pairs(replicas: Sequence[Found]) -> list[tuple[Found, Found]]:
    """But for those of two topics, of which the later has the name of the one before."""
    return [pair for pair in combinations(replicas, 2) if len(_topic_ids(pair)) < 2]


def _topic_ids(pair: Sequence[Found]) -> set[str]:
    return {each.common.topic_id for each in pair if each.common.topic_id is not None}


def compare(replicas: Sequence[Found]) -> list[Finding]:
    """What is wrong between them; nothing of one alone."""
    return _wrong(replicas, partings(replicas))


def _wrong(replicas: Sequence[Found], parted: Sequence[Parting]) -> list[Finding]:
    found = [*_mixed(replicas), *map(_finding, parted)]
    apart = {each.folders for each in parted}
    together = [
        (one, other) for one, other in _pairs(replicas) if (one.folder, other.folder) not in apart
    ]
    for one, other in together:
        found += _lacking(one, other)
    cleaned = [pair for pair in together if any(each.common.compacted for each in pair)]
    return [*found, *compacted.compare(cleaned), *electable(replicas)]


def _mixed(replicas: Sequence[Found]) -> Iterator[Finding]:
    """Directories that do not belong side by side."""
    for one, other in combinations(replicas, 2):
        names = f"{one.folder} and {other.folder}"
        if len(_topic_ids((one, other))) > 1:
            ids = f"{one.common.topic_id} and {other.common.topic_id}"
            said = f"{names} are of two topics, {ids}: not held against each other"
            yield Finding("report", "SameTopic", "", -1, said)
        if one.common.node is not None and one.common.node == other.common.node:
            said = f"{names} are both of node {one.common.node}: a broker starts with one"
            yield Finding("report", "OneDirectory", "", -1, said)


def _parting(one: Found, other: Found) -> Parting | None:
    begin = max(one.start, other.start)
    ours, theirs = [each.batches[each.batches[:, 1] >= begin] for each in (one, other)]
    if one.common.compacted or other.common.compacted:
        return _parting_cleaned(one, other, ours, theirs)
    count = min(len(ours), len(theirs))
    apart = np.flatnonzero((ours[:count] != theirs[:count]).any(axis=1))
    if not apart.size:
        return None
    at = int(apart[0])
    return _parted(one, other, ours[at], theirs[at])


def _parted(one: Found, other: Found, ours: Table, theirs: Table) -> Parting:
    return Parting(
        (one.folder, other.folder),
        (one.common.high_watermark, other.common.high_watermark),
        int(min(ours[0], theirs[0])),
        (int(ours[2]), int(theirs[2])),
    )


def _parting_cleaned(one: Found, other: Found, ours: Table, theirs: Table) -> Parting | None:
    """A cleaner leaves batches out, and records; what is left of a batch has its first offset, its
    last and its epoch. So batches that overlap are the same one."""
    if not len(ours) or not len(theirs):
        return None
    at = np.searchsorted(theirs[:, 0], ours[:, 1], side="right") - 1
    near = theirs[np.maximum(at, 0)]
    overlap = (at >= 0) & (near[:, 1] >= ours[:, 0])
    apart = np.flatnonzero(overlap & (ours[:, :3] != near[:, :3]).any(axis=1))
    return _parted(one, other, ours[apart[0]], near[apart[0]]) if apart.size else None


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
    marks = [each.common.high_watermark for each in (one, other)]
    return max((mark for mark in marks if mark is not None), default=None)


def _finding(parting: Parting) -> Finding:
    marks = [mark for mark in parting.marks if mark is not None]
    least = min(marks) if len(marks) == len(parting.marks) else None
    weight: Weight = "violated" if parting.is_committed else "report"
    where = "below" if weight == "violated" else "not below"
    return Finding(
        weight,
        "LogMatching",
        "",
        -1,
        f"{' and '.join(parting.folders)} part at offset {parting.offset} (epochs "
        f"{parting.epochs[0]} and {parting.epochs[1]}), {where} the least high watermark "
        f"{'of both' if least is None else least}",
    )
