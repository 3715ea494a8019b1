"""Replicas of one partition, side by side: whether they agree on what is committed.

Below the least high watermark that was written down, replicas have the same batches (LogMatching):
what differs there is violated. Above it they may part, until the one that follows truncates: a
report. Where a cleaner was at work batches are missing, on each broker others: those that are there
are compared, without what is in them, and then the last value of each key (compacted.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from kraftcheck.reference.storage.batches import CONTROL, TRANSACTIONAL
from kraftcheck.traces.disks import compacted, elections, files
from kraftcheck.traces.disks.batches import Bad, Batch, batches
from kraftcheck.traces.disks.beside import beside
from kraftcheck.traces.disks.found import DiskPartition, DiskReplica, Finding, Parting, Weight
from kraftcheck.traces.disks.members import Members, lacking, strange
from kraftcheck.traces.disks.sums import Stretch, Sums
from kraftcheck.traces.disks.voters import electable


def judged(
    topic: str, partition: int, replicas: Sequence[DiskReplica], members: Members | None = None
) -> DiskPartition:
    """All that there is to say of a partition.

    What it took to compare them is forgotten. members: what the metadata log says of it. What
    cannot be read again is unknown.
    """
    try:
        parted = partings(replicas)
        together = _wrong(replicas, parted, members)
    except OSError as error:
        said = f"{error.filename}: {error.strerror}: not held against each other"
        parted, together = [], [Finding("unknown", "FilesWhole", "", -1, said)]
    lean = [msgspec.structs.replace(each, sums=Sums()) for each in replicas]
    roles = [] if members is None else [members.role(each) for each in replicas]
    return DiskPartition(topic, partition, lean, parted, together, roles)


def partings(replicas: Sequence[DiskReplica]) -> list[Parting]:
    """Of any two of them the first."""
    found = [_parting(one, other) for one, other in _pairs(replicas)]
    return [each for each in found if each is not None]


def _pairs(replicas: Sequence[DiskReplica]) -> list[tuple[DiskReplica, DiskReplica]]:
    """But for those of two topics, of which the later has the name of the one before."""
    return [pair for pair in combinations(replicas, 2) if len(_topic_ids(pair)) < 2]


def _topic_ids(pair: Sequence[DiskReplica]) -> set[str]:
    return {each.common.topic_id for each in pair if each.common.topic_id is not None}


def compare(replicas: Sequence[DiskReplica]) -> list[Finding]:
    """What is wrong between them; nothing of one alone."""
    return _wrong(replicas, partings(replicas), None)


def _wrong(
    replicas: Sequence[DiskReplica], parted: Sequence[Parting], members: Members | None
) -> list[Finding]:
    found = [*_mixed(replicas), *map(_finding, parted)]
    apart = {each.folders for each in parted}
    together = [
        (one, other) for one, other in _pairs(replicas) if (one.folder, other.folder) not in apart
    ]
    for one, other in together:
        found += beside(one, other)
        if members is None:
            found += _lacking(one, other)
    if members is not None:
        found += [*lacking(replicas, members), *strange(replicas, members)]
    cleaned = [pair for pair in together if any(each.common.compacted for each in pair)]
    return [*found, *compacted.compare(cleaned), *electable(replicas), *elections.compare(replicas)]


def _mixed(replicas: Sequence[DiskReplica]) -> Iterator[Finding]:
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


def _parting(one: DiskReplica, other: DiskReplica) -> Parting | None:
    if one.common.compacted or other.common.compacted:
        return _parting_cleaned(one, other)
    begin = max(one.start, other.start)
    for end, ours, theirs in one.sums.differing(other.sums):
        if end <= begin:
            continue
        if ours is None or theirs is None:
            return None  # One of them is at its end.
        streams = (_from(found, at, begin) for found, at in ((one, ours), (other, theirs)))
        for mine, its in zip(*streams, strict=False):
            if _what(mine) != _what(its):
                return _parted(one, other, mine, its)
            if mine.base >= end:
                break
        else:
            return None
    return None


def _what(batch: Batch) -> tuple[int, int, int, int]:
    return batch.base, batch.last, batch.epoch, batch.crc


def _what_stays(batch: Batch) -> tuple[int, ...]:
    """Of a batch from which a cleaner takes records (MemoryRecords.filterTo)."""
    kind = batch.attributes & (TRANSACTIONAL | CONTROL)
    ours = batch.producer, batch.producer_epoch, batch.sequence
    return batch.base, batch.last, batch.epoch, kind, *ours


def _from(found: DiskReplica, at: Stretch, begin: int) -> Iterator[Batch]:
    """Its batches, but for those below an offset, read again."""
    for base, path in files.segments_of(Path(found.folder)).items():
        if base < at.segment:
            continue
        for each in batches(path, at.position if base == at.segment else 0):
            if isinstance(each, Bad):
                return
            if each.last >= begin:
                yield each


def _parted(one: DiskReplica, other: DiskReplica, ours: Batch, theirs: Batch) -> Parting:
    return Parting(
        (one.folder, other.folder),
        (one.common.high_watermark, other.common.high_watermark),
        min(ours.base, theirs.base),
        (ours.epoch, theirs.epoch),
    )


def _parting_cleaned(one: DiskReplica, other: DiskReplica) -> Parting | None:
    """Compare two replicas that a cleaner has been over.

    A cleaner leaves batches out, and records. What is left of a batch keeps its first offset, its
    last and its epoch. So batches that overlap are the same one.
    """
    begin = max(one.start, other.start)
    ours, theirs = (_from(found, Stretch(0, 0, 0), begin) for found in (one, other))
    mine, its = next(ours, None), next(theirs, None)
    while mine is not None and its is not None:
        if mine.last < its.base:
            mine = next(ours, None)
        elif its.last < mine.base:
            its = next(theirs, None)
        elif _what_stays(mine) != _what_stays(its):
            return _parted(one, other, mine, its)
        else:
            mine, its = next(ours, None), next(theirs, None)
    return None


def _lacking(one: DiskReplica, other: DiskReplica) -> list[Finding]:
    """Report a replica that ends below what was written down as committed.

    It may be one that lags: only metadata tells that it is in the ISR.
    """
    committed = _committed(one, other)
    short = min(one, other, key=lambda each: each.end)
    if committed is None or short.end >= committed:
        return []
    said = f"{short.folder} ends at {short.end}, and {committed} was committed"
    return [Finding("report", "LogMatching", "", -1, said)]


def _committed(one: DiskReplica, other: DiskReplica) -> int | None:
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
