"""Compute on the log of a partition, by pure functions.

It is the twin of PartitionLog.tla, with the same names in the same order, beside those of
kit/log.py.

Law of this file: nothing here knows of roles, nodes or messages, and nothing changes its arguments.

A log is a tuple of records from offset 0; what lies below the log's start is `GONE`, so that a
record's place is its offset. Batches stay whole: they are read, copied and cut as one. Producer
state is a tuple of `ProducerState`, sorted by producer, one for each.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import put
from kraftcheck.reference.kit.log import (
    UNDEFINED as UNDEFINED,
    CacheEntry as CacheEntry,
    Entry,
    EpochCache as EpochCache,
    EpochEnd as EpochEnd,
    cache_append as cache_append,
    cache_assign as cache_assign,
    cache_truncate as cache_truncate,
)


class Record(Entry, frozen=True, gc=False, array_like=True, cache_hash=True):
    """An entry of a partition's log: who wrote it, and where it stands in its batch.

    All but epoch and value are -1 without idempotence.
    """

    producer: int
    producer_epoch: int
    sequence: int
    """The sequence number of the record itself."""
    first: int
    """The first sequence number of its batch."""
    last: int


RecordLog: TypeAlias = tuple[Record, ...]

GONE = Record(-1, -1, -1, -1, -1, -1, -1)
"""What stands below the start of a log."""

CORRUPT = -2
"""The value of a record whose batch fails its checksum."""

NO_DIVERGENCE = EpochEnd(UNDEFINED, UNDEFINED)


class Batch(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What is remembered of a batch: its sequence numbers, and its first offset."""

    first: int
    last: int
    offset: int


class ProducerState(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """What a log implies about one producer: its epoch, and its latest batches in that epoch."""

    producer: int
    epoch: int
    batches: tuple[Batch, ...]


Producers: TypeAlias = tuple[ProducerState, ...]


class Produced(Protocol):
    """As much of a produce request as its sequence numbers are judged by."""

    @property
    def producer(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def sequence(self) -> int: ...
    @property
    def values(self) -> tuple[int, ...]: ...


def ends_batch(record: Record) -> bool:
    return record.sequence == record.last


def last_epoch_of(cache: EpochCache) -> int:
    """The epoch of the last record or of the leader's own, -1 when there is none."""
    return cache[-1].epoch if cache else UNDEFINED


def trimmed(log: RecordLog, start: int) -> RecordLog:
    """The log whose start is `start`."""
    kept = log[start:]
    return (GONE,) * (len(log) - len(kept)) + kept


def empty_log_at(start: int) -> RecordLog:
    """A log that has nothing and starts at `start`."""
    return (GONE,) * start


def cache_trimmed(cache: EpochCache, start: int) -> EpochCache:
    """P12 truncateFromStart: the covering epoch begins at the new start."""
    kept = tuple(e for e in cache if e.start > start)
    if len(kept) == len(cache):
        return cache
    covering = cache[len(cache) - len(kept) - 1]
    return (CacheEntry(covering.epoch, start), *kept)


def end_offset_for(cache: EpochCache, end: int, epoch: int) -> EpochEnd:
    """P13. The end offset for an epoch, or (-1, -1) where the log has no say."""
    if epoch == UNDEFINED:
        return NO_DIVERGENCE
    if cache and cache[-1].epoch == epoch:
        return EpochEnd(epoch, end)
    below = epoch
    for entry in cache:
        if entry.epoch > epoch:
            return EpochEnd(below, entry.start)
        below = entry.epoch
    return NO_DIVERGENCE


def batches_up_to(log: RecordLog, last: int, end: int) -> int:
    """Where the batch of the record before offset `last` ends, at most `end`."""
    while last < end and log[last - 1].sequence != log[last - 1].last:
        last += 1
    return min(last, end)


def batches_from(log: RecordLog, offset: int, end: int, limit: int) -> RecordLog:
    """Give the records from `offset` on that one fetch returns.

    `limit` of them and the rest of the last batch, none at or above `end`.
    """
    if offset >= end:
        return ()
    return log[offset : batches_up_to(log, min(end, offset + limit), end)]


# --- Producer state: T1 to T3 ---


def state_of(producers: Producers, producer: int) -> ProducerState | None:
    for state in producers:
        if state.producer == producer:
            return state
    return None


def last_sequence(state: ProducerState) -> int:
    return state.batches[-1].last


def sequence_error(producers: Producers, m: Produced) -> str:
    """T2, T3."""
    state = None if m.producer == UNDEFINED else state_of(producers, m.producer)
    if state is None:
        return "NONE"
    if m.producer_epoch < state.epoch:
        return "INVALID_PRODUCER_EPOCH"
    expected = 0 if m.producer_epoch > state.epoch else last_sequence(state) + 1
    return "NONE" if m.sequence == expected else "OUT_OF_ORDER_SEQUENCE_NUMBER"


def duplicate_in(producers: Producers, m: Produced) -> int:
    """T1. The first offset of the same batch if it is remembered, or -1."""
    state = None if m.producer == UNDEFINED else state_of(producers, m.producer)
    if state is not None and state.epoch == m.producer_epoch:
        last = m.sequence + len(m.values) - 1
        for batch in state.batches:
            if batch.first == m.sequence and batch.last == last:
                return batch.offset
    return UNDEFINED


def producers_after_append(
    producers: Producers,
    producer: int,
    epoch: int,
    sequence: int,
    count: int,
    offset: int,
    kept: int,
) -> Producers:
    """The state after a batch of `count` records at `offset`; `kept` batches are remembered."""
    if producer == UNDEFINED:
        return producers
    batch = Batch(sequence, sequence + count - 1, offset)
    at = 0
    while at < len(producers) and producers[at].producer < producer:
        at += 1
    if at == len(producers) or producers[at].producer != producer:
        return (*producers[:at], ProducerState(producer, epoch, (batch,)), *producers[at:])
    state = producers[at]
    batches = (*state.batches, batch)[-kept:] if state.epoch == epoch else (batch,)
    new = ProducerState(producer, epoch, batches)
    return put(producers, at, new)


def producers_from(producers: Producers, log: RecordLog, start: int, kept: int) -> Producers:
    """The state after the records from offset `start` on, given the state before them."""
    for end, record in enumerate(log[start:], start + 1):
        if record.producer != UNDEFINED and record.sequence == record.last:
            count = record.last - record.first + 1
            producers = producers_after_append(
                *(producers, record.producer, record.producer_epoch),
                *(record.first, count, end - count, kept),
            )
    return producers


def producers_of(log: RecordLog, kept: int) -> Producers:
    """The state that a log implies."""
    return producers_from((), log, 0, kept)
