"""The state of a broker's replica of a compacted partition.

Law of this file: values only. `CompactedReplica` is the row of
specs/partition/compaction/Compaction.tla, the same fields in the same order in snake case.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, Node, SetOf

LoadState: TypeAlias = Literal["Idle", "Loading", "Loaded"]


class Constants(msgspec.Struct, frozen=True, tag="compaction", tag_field="protocol"):
    """The constants of specs/partition/compaction/CompactionRules.tla."""

    replicas: SetOf[Node]
    """The brokers that have one."""
    keys: SetOf[AtLeastOne]
    """Of records; numbers stand for them."""

    def __post_init__(self) -> None:
        assert self.replicas and self.keys, "there is a replica, and there is a key"
        for named in (self.replicas, self.keys):
            assert list(named) == sorted({*named}), "replicas and keys are sorted, once"
        assert min(self.replicas) >= 0, "-1 is nobody"


class Batch(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The records of one write."""

    offset: int
    value: int
    """Its name."""
    keys: SetOf[int]
    """Those written with it."""
    removed: SetOf[int]
    """Those of them that it removes (tombstones)."""
    kept: SetOf[int]
    """Those that are still there; none: it is a hole."""


class LoadedKey(msgspec.Struct, frozen=True, gc=False, order=True):
    """The batch that counts, of a key."""

    key: int
    value: int


class CompactedReplica(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A replica, and who reads it.

    Ends count batches. The hash is kept, because steps are memoised by row.
    """

    log: tuple[Batch, ...]
    """Durable: what was written, as the partition has it, and what is left of it."""
    aged: SetOf[int]
    """Durable: the batches, counted from 1, that a cleaning came by, after which their tombstones
    stay for a while."""
    segments: SetOf[int]
    """Durable: where segments begin; the last one is active."""
    cleaned: int
    """Durable: up to here it is clean (the checkpoint)."""
    covered: int
    """Durable: what lies before it may be superseded by what lies up to here, in a cleaning here or
    at a leader."""
    high_watermark: int
    """The largest that the cleaner was told."""
    clean_to: int
    """Volatile: up to where it cleans now, or 0."""
    clean_next: int
    """Volatile: the segment that it cleans next."""
    state: LoadState
    """Volatile: whether a coordinator loads the log, or has."""
    position: int
    """Volatile: up to here it has read."""
    loaded: SetOf[LoadedKey]
    """Volatile."""


FIRST: Final = CompactedReplica((), (), (0,), 0, 0, 0, 0, 0, "Idle", 0, ())


def initial_replica(constants: Constants) -> CompactedReplica:
    return FIRST
