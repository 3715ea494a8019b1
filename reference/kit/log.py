"""Pure functions on replicated logs: the twin of ReplicaLog.tla, same names, same order.

Law of this file: nothing here knows of roles, nodes or messages, and nothing changes its arguments.

A log is a tuple of entries. Offsets are 0-based and end offsets are exclusive, as in Kafka: offset
o names `log[o]` (TLA+ counts from 1, so there it is `log[o + 1]`). An epoch cache
(leader-epoch-checkpoint, P12) is a tuple of (epoch, start), ascending in both fields: where each
epoch begins.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Value

LEADER_CHANGE = 0
"""Value of the control record that opens an epoch (Q9)."""

UNDEFINED = -1
"""No such offset or epoch: Kafka's own sentinel."""


class Entry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One record: the leader epoch in which it was written, and its value."""

    epoch: int
    value: Value


class CacheEntry(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One line of leader-epoch-checkpoint: where an epoch begins."""

    epoch: int
    start: int


class EpochEnd(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An epoch and where it ends: an answer to OffsetsForLeaderEpoch, or a diverging epoch."""

    epoch: int
    end_offset: int


Log: TypeAlias = tuple[Entry, ...]
EpochCache: TypeAlias = tuple[CacheEntry, ...]


def end_offset(log: Log) -> int:
    return len(log)


def prefix(log: Log, offset: int) -> Log:
    return log[:offset]


def is_prefix_of(shorter: Log, longer: Log) -> bool:
    return len(shorter) <= len(longer) and longer[: len(shorter)] == shorter


def agree(a: Log, b: Log, offset: int) -> bool:
    """Whether two logs that both reach `offset` are the same below it."""
    return prefix(a, offset) == prefix(b, offset)


def slice_of(log: Log, offset: int, end: int, limit: int) -> Log:
    """The records from `offset` on, at most `limit` of them, none at or above `end`."""
    return log[offset : min(end, offset + limit)]


def up_to_epoch(records: Log, epoch: int) -> Log:
    """The records of this epoch and of those before it."""
    if all(record.epoch <= epoch for record in records):
        return records
    return tuple([record for record in records if record.epoch <= epoch])


# --- Epoch cache: P12, P13 ---


def latest_epoch(cache: EpochCache) -> int:
    return cache[-1].epoch if cache else 0


def cache_assign(cache: EpochCache, epoch: int, start: int) -> EpochCache:
    """P12 assign: the entry replaces every tail entry that it contradicts."""
    if cache and cache[-1].epoch == epoch and cache[-1].start <= start:
        return cache
    kept = tuple(e for e in cache if e.epoch < epoch and e.start < start)
    return (*kept, CacheEntry(epoch, start))


def cache_truncate(cache: EpochCache, offset: int) -> EpochCache:
    """P12 truncateFromEnd: drop the entries that start at or above `offset`."""
    return tuple(e for e in cache if e.start < offset)


def cache_of(log: Log) -> EpochCache:
    """The cache that a log implies: EpochCacheSound compares it with the one that a node keeps."""
    return cache_append((), 0, log)


def cache_append(cache: EpochCache, offset: int, records: Log) -> EpochCache:
    """The cache after appending `records` at `offset`."""
    for at, record in enumerate(records, offset):
        cache = cache_assign(cache, record.epoch, at)
    return cache


def end_offset_for_epoch(cache: EpochCache, end: int, epoch: int) -> EpochEnd:
    """Q13, P13: the largest cached epoch at or below `epoch` and where it ends.

    It ends at the start of the next cached epoch, or at the log's end. An epoch below every cached
    one ends, under its own name, where the first one begins.
    """
    below = 0
    for entry in cache:
        if entry.epoch > epoch:
            return EpochEnd(below if entry is not cache[0] else epoch, entry.start)
        below = entry.epoch
    return EpochEnd(below, end)
