"""What `disk` found, as the picture that its page draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kraftcheck.traces.disks.found import (
    DiskPartition,
    DiskReplica,
    verdict_of,
    verdict_on,
    with_roles,
)
from kraftcheck.traces.report.disk import Box, Mark, Partition, Replica, render

LETTERS: Final = {
    "log start": "S",
    "cleaned": "C",
    "recovery point": "R",
    "high watermark": "H",
}
FINDINGS_MAX: Final = 20
"""So many of a replica are told."""


def page(
    judged: Sequence[DiskPartition], verdict: str, said: Sequence[str], asked: Sequence[str]
) -> str:
    """said: of the whole. asked: the folders."""
    return render("disk " + " ".join(asked), verdict, said, [_partition(each) for each in judged])


def _partition(of: DiskPartition) -> Partition:
    parted: dict[int, list[str]] = {}
    for each in of.parted:
        parted.setdefault(each.offset, []).append(
            f"{' and '.join(each.folders)} part at {each.offset:,}: epochs "
            f"{each.epochs[0]} and {each.epochs[1]}"
        )
    return Partition(
        f"{of.topic}-{of.partition}",
        verdict_of(of.findings),
        [_replica(each, role) for each, role in with_roles(of)],
        [(each.weight, f"{each.invariant}: {each.said}") for each in of.together],
        [(offset, "; ".join(words)) for offset, words in sorted(parted.items())],
    )


def _replica(found: DiskReplica, role: str) -> Replica:
    marks = found.common.marks
    return Replica(
        found.folder,
        verdict_on(found) or "-",
        [
            Box(at, max(end, at), f"{at:,}", f"segment {at:020}: up to {end:,}, {size:,} bytes")
            for at, end, size in found.layout
        ],
        list(_epochs(found)),
        list(_transactions(found)),
        found.transactions + len(found.open),
        [Mark(at, LETTERS[name], name) for name, at in marks.items() if at is not None],
        [
            ("segments", f"{found.segments:,}"),
            ("role", role or "-"),
            ("bytes", f"{found.bytes:,}"),
            ("synced", f"{found.synced:,}"),
            ("forgotten", f"{sum(each.batches for each in found.forgotten):,}"),
            ("from", f"{found.start:,}"),
            ("to", f"{found.end:,}"),
            *[(name, "-" if at is None else f"{at:,}") for name, at in marks.items()],
        ],
        list(_findings(found)),
    )


def _findings(found: DiskReplica) -> Iterator[tuple[str, str, str]]:
    for each in found.findings[:FINDINGS_MAX]:
        at = f" at byte {each.position:,}" if each.position >= 0 else ""
        place = f"{found.folder}/{each.file}".rstrip("/")
        yield each.weight, f"{place}{at}", f"{each.invariant}: {each.said}"
    if (more := len(found.findings) - FINDINGS_MAX) > 0:
        yield "report", found.folder, f"{more:,} findings more; see --json"


def _epochs(found: DiskReplica) -> Iterator[Box]:
    begins = [*found.epochs, (-1, found.end)]
    for (epoch, start), (_, end) in pairwise(begins):
        yield Box(start, end, f"e{epoch}", f"leader epoch {epoch}: {start:,} up to {end:,}")


def _transactions(found: DiskReplica) -> Iterator[Box]:
    rows = [
        (first, last + 1, "aborted" if aborts else "committed", producer)
        for producer, first, last, aborts in found.ended
    ]
    rows += [(first, found.end, "open", producer) for producer, first, _ in found.open]
    for first, end, kind, producer in sorted(rows):
        words = f"transaction of producer {producer}, {kind}: {first:,} up to {end:,}"
        yield Box(first, end, str(producer), words, kind)
