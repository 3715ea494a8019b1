"""What is found in the directory of a partition, and what there is to say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.traces.disks.producers import Forgotten
from kraftcheck.traces.disks.sums import Sums

Weight: TypeAlias = Literal["violated", "damaged", "unknown", "report"]
"""violated: what lies there is whole, and is not what Kafka promises. damaged: records that were on
the disk, or were noted as committed, cannot be read any more, and no crash explains it. unknown: it
cannot be read here, or a crash may explain it: nothing is claimed. report: no promise is broken."""
Verdict: TypeAlias = Literal["violated", "damaged", "unknown", "holds"]
_WORST: tuple[Verdict, ...] = ("violated", "damaged", "unknown")


class Finding(msgspec.Struct, frozen=True):
    """position: in the file, in bytes; -1: the whole file."""

    weight: Weight
    invariant: str
    file: str
    position: int
    said: str


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    weights = {each.weight for each in findings}
    return next((each for each in _WORST if each in weights), "holds")


class Common(msgspec.Struct, frozen=True):
    """What is written down of a partition beside its log. None: nothing.

    stopped: whether its broker was stopped cleanly. synced: whether each append is flushed before
    the next (the metadata log). cleaned: up to where a cleaner has been. copied_cleaned: whether
    another replica was cleaned, whose batches this one may have copied. unnoted: the marks that are
    noted of other partitions and not of it. node: the broker's id. topic_id: the topic's. alone:
    whether nothing lies beside the directory of the partition that is a broker's.
    """

    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start: int | None = None
    stopped: bool = False
    synced: bool = False
    cleaned: int | None = None
    copied_cleaned: bool = False
    unnoted: tuple[str, ...] = ()
    node: str | None = None
    topic_id: str | None = None
    alone: bool = False

    @property
    def marks(self) -> dict[str, int | None]:
        """What checkpoints say, by their names."""
        return {
            "high watermark": self.high_watermark,
            "recovery point": self.recovery_point,
            "log start": self.log_start,
            "cleaned": self.cleaned,
        }

    @property
    def compacted(self) -> bool:
        return self.cleaned is not None or self.copied_cleaned


class Segment(NamedTuple):
    """end: the offset after its last one."""

    base: int
    end: int
    bytes: int


class Voter(NamedTuple):
    """directory: of its metadata log, as hexadecimal digits; a controller whose disk was exchanged
    is another one."""

    number: int
    directory: str


class Quorum(msgspec.Struct, frozen=True):
    """A controller as its directory has it.

    voters: the last set of its log. epoch, end: of its last record, and the offset after it: what
    votes go by.
    """

    own: Voter
    voters: list[Voter]
    epoch: int
    end: int


class Election(NamedTuple):
    """What a node has noted: the latest epoch, who led it (-1: nobody), and the voters, where they
    do not change."""

    epoch: int
    leader: int
    voters: tuple[int, ...]


class Found(msgspec.Struct, frozen=True):
    """start, end: the first offset and the one after the last; they are equal where there is
    nothing. open: of the transactions without a marker (producer, first offset, milliseconds
    between its last batch and the latest in the log). synced: bytes that are known to be on the
    disk. forgotten: what a start would no longer know of producers.

    sums: by which replicas are compared. ended: of the last transactions (producer, first offset,
    offset of the marker, whether it aborts), of so many. layout: of the segments. quorum: of the
    metadata log of a controller whose voters change. election: of a metadata log. noted_epochs: of
    the epoch file.
    """

    folder: str
    segments: int
    bytes: int
    synced: int
    start: int
    end: int
    epochs: list[tuple[int, int]]
    open: list[tuple[int, int, int]]
    forgotten: list[Forgotten]
    findings: list[Finding]
    common: Common
    sums: Sums
    ended: list[tuple[int, int, int, bool]]
    transactions: int
    layout: list[Segment]
    quorum: Quorum | None = None
    election: Election | None = None
    noted_epochs: Sequence[tuple[int, int]] = ()

    @property
    def is_torn(self) -> bool:
        """Whether its log has bytes that are no batch."""
        return any(each.invariant == "BatchesWhole" for each in self.findings)


class Parting(NamedTuple):
    """Two replicas, by their folders, have something else at an offset.

    marks: the high watermarks that were written down. epochs: of what either has there.
    """

    folders: tuple[str, str]
    marks: tuple[int | None, int | None]
    offset: int
    epochs: tuple[int, int]

    @property
    def is_committed(self) -> bool:
        """By the least high watermark of both; if either has none, nothing is known."""
        return all(mark is not None and self.offset < mark for mark in self.marks)


class Judged(msgspec.Struct, frozen=True):
    """A partition.

    replicas: each directory of it, without the batches by which they were compared; parted: of any
    two of them the first offset where they are not the same; together: what is wrong between them;
    roles: of each replica, by the metadata log, if it says anything of it.
    """

    topic: str
    partition: int
    replicas: list[Found]
    parted: list[Parting]
    together: list[Finding]
    roles: Sequence[str] = ()

    @property
    def findings(self) -> list[Finding]:
        return [*[each for found in self.replicas for each in found.findings], *self.together]


def verdict_on(found: Found) -> Verdict | None:
    """Of one directory by itself; None where no record was there and nothing is wrong."""
    verdict = verdict_of(found.findings)
    return None if verdict == "holds" and found.end == found.start else verdict


def with_roles(judged: Judged) -> list[tuple[Found, str]]:
    """The replicas, each with its role; "" where nothing says it."""
    return list(zip(judged.replicas, judged.roles or [""] * len(judged.replicas), strict=True))
