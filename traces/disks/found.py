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
    weight: Weight
    invariant: str
    file: str
    position: int
    """In the file, in bytes; -1: the whole file."""
    said: str


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    weights = {each.weight for each in findings}
    return next((each for each in _WORST if each in weights), "holds")


class Common(msgspec.Struct, frozen=True):
    """What is written down of a partition beside its log. None: nothing."""

    high_watermark: int | None = None
    recovery_point: int | None = None
    log_start: int | None = None
    stopped: bool = False
    """Whether its broker was stopped cleanly."""
    synced: bool = False
    """Whether each append is flushed before the next (the metadata log)."""
    cleaned: int | None = None
    """Up to where a cleaner has been."""
    copied_cleaned: bool = False
    """Whether another replica was cleaned, whose batches this one may have copied."""
    unnoted: tuple[str, ...] = ()
    """The marks that are noted of other partitions and not of it."""
    node: str | None = None
    """The broker's id."""
    topic_id: str | None = None
    """The topic's."""
    alone: bool = False
    """Whether nothing lies beside the directory of the partition that is a broker's."""

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
    base: int
    end: int
    """The offset after its last one."""
    bytes: int


class Voter(NamedTuple):
    number: int
    directory: str
    """Of its metadata log, as hexadecimal digits; a controller whose disk was exchanged is another
    one.
    """


class Quorum(msgspec.Struct, frozen=True):
    """A controller as its directory has it.

    epoch, end: of its last record, and the offset after it: what votes go by.
    """

    own: Voter
    voters: list[Voter]
    """The last set of its log."""
    epoch: int
    end: int


class Election(NamedTuple):
    """What a node has noted of an election.

    It has the latest epoch, who led it (-1: nobody), and the voters, where they do not change.
    """

    epoch: int
    leader: int
    voters: tuple[int, ...]


class DiskReplica(msgspec.Struct, frozen=True):
    """What the log of a partition holds.

    start, end: the first offset and the one after the last; they are equal where there is nothing.
    """

    folder: str
    segments: int
    bytes: int
    synced: int
    """Bytes that are known to be on the disk."""
    start: int
    end: int
    epochs: list[tuple[int, int]]
    open: list[tuple[int, int, int]]
    """Of the transactions without a marker (producer, first offset, milliseconds between its last
    batch and the latest in the log).
    """
    forgotten: list[Forgotten]
    """What a start would no longer know of producers."""
    findings: list[Finding]
    common: Common
    sums: Sums
    """By which replicas are compared."""
    ended: list[tuple[int, int, int, bool]]
    """Of the last transactions (producer, first offset, offset of the marker, whether it aborts),
    of so many.
    """
    transactions: int
    layout: list[Segment]
    """Of the segments."""
    quorum: Quorum | None = None
    """Of the metadata log of a controller whose voters change."""
    election: Election | None = None
    """Of a metadata log."""
    noted_epochs: Sequence[tuple[int, int]] = ()
    """Of the epoch file."""

    @property
    def is_torn(self) -> bool:
        """Whether its log has bytes that are no batch."""
        return any(each.invariant == "BatchesWhole" for each in self.findings)


class Parting(NamedTuple):
    """Two replicas, by their folders, have something else at an offset."""

    folders: tuple[str, str]
    marks: tuple[int | None, int | None]
    """The high watermarks that were written down."""
    offset: int
    epochs: tuple[int, int]
    """Of what either has there."""

    @property
    def is_committed(self) -> bool:
        """By the least high watermark of both; if either has none, nothing is known."""
        return all(mark is not None and self.offset < mark for mark in self.marks)


class DiskPartition(msgspec.Struct, frozen=True):
    """A partition."""

    topic: str
    partition: int
    replicas: list[DiskReplica]
    """Each directory of it, without the batches by which they were compared."""
    parted: list[Parting]
    """Of any two of them the first offset where they are not the same."""
    together: list[Finding]
    """What is wrong between them."""
    roles: Sequence[str] = ()
    """Of each replica, by the metadata log, if it says anything of it."""

    @property
    def findings(self) -> list[Finding]:
        return [*[each for found in self.replicas for each in found.findings], *self.together]


def verdict_on(found: DiskReplica) -> Verdict | None:
    """Of one directory by itself; None where no record was there and nothing is wrong."""
    verdict = verdict_of(found.findings)
    return None if verdict == "holds" and found.end == found.start else verdict


def with_roles(judged: DiskPartition) -> list[tuple[DiskReplica, str]]:
    """The replicas, each with its role; "" where nothing says it."""
    return list(zip(judged.replicas, judged.roles or [""] * len(judged.replicas), strict=True))
