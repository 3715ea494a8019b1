"""What a log on disk is to the protocol: the log of a partition's row, and each operation a step.

`row_of` is the abstraction, `steps` what the rules of `kraftcheck.reference.partition.log`
(PartitionLog.tla) make of a row by an operation of `histories`. An engine that does anything else
is none of that log. Three things are the engine's own. Batches are cut as one: an offset within one
leaves a gap, which is `GONE` here, up to the end that was asked for. Markers and what a disk has no
room for may be refused for reasons that the row does not know. And compaction is no step: a log
that is compacted is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import google_crc32c

from kraftcheck.reference.partition.log import (
    GONE,
    Batch,
    CacheEntry,
    EpochCache,
    Producers,
    ProducerState,
    Record,
    RecordLog,
    cache_append,
    cache_trimmed,
    cache_truncate,
    duplicate_in,
    empty_log_at,
    producers_after_append,
    sequence_error,
    trimmed,
)
from kraftcheck.reference.storage import batches as disk
from kraftcheck.reference.storage.crashing import Story
from kraftcheck.reference.storage.histories import Operation
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.rules import BATCHES_KEPT


class Row(NamedTuple):
    """As much of a partition's row as lies on a disk. producers: those that have batches."""

    log: RecordLog
    start: int
    high_watermark: int
    cache: EpochCache
    producers: Producers


class Request(NamedTuple):
    """A batch, as the rules of sequence numbers see it."""

    producer: int
    producer_epoch: int
    sequence: int
    values: tuple[int, ...]


def records_of(batch: disk.Batch) -> RecordLog:
    """A marker is a record of nobody's."""
    values = [google_crc32c.value(repr(each[2:4]).encode()) for each in disk.records_of(batch)]
    if batch.is_control or batch.producer < 0:
        return tuple(Record(batch.epoch, value, -1, -1, -1, -1, -1) for value in values)
    return tuple(
        Record(
            batch.epoch,
            value,
            batch.producer,
            batch.producer_epoch,
            (batch.sequence + at) % disk.SEQUENCES,
            batch.sequence,
            batch.last_sequence,
        )
        for at, value in enumerate(values)
    )


def log_of(found: Sequence[disk.Batch], start: int, end: int) -> RecordLog:
    """With what is below the start, and in a gap, gone."""
    out: list[Record] = []
    for batch in found:
        out += [GONE] * (batch.base - len(out))
        out += records_of(batch)
    return trimmed((*out, *[GONE] * (end - len(out))), start)


def row_of(log: Log) -> Row:
    found = [batch for segment in log.segments for _, batch in segment.batches()]
    entries = sorted(log.producers.entries.items())
    return Row(
        log_of(found, log.start, log.end),
        log.start,
        log.high_watermark,
        tuple(CacheEntry(epoch, start) for epoch, start in log.epochs.entries),
        tuple(
            ProducerState(
                producer,
                entry.epoch,
                tuple(
                    Batch(each.first_sequence, each.last_sequence, each.last - each.delta)
                    for each in entry.batches
                ),
            )
            for producer, entry in entries
            if entry.batches
        ),
    )


# -- Steps


def appended(row: Row, batch: disk.Batch) -> Row:
    """Batches lie behind the end, or further on, where a leader's log was cut."""
    log = (*row.log, *[GONE] * (batch.base - len(row.log)))
    records = records_of(batch)
    producers = row.producers
    if batch.is_control:
        producers = tuple(
            each
            for each in producers
            if each.producer != batch.producer or each.epoch >= batch.producer_epoch
        )
    elif batch.producer >= 0:
        producers = producers_after_append(
            producers,
            batch.producer,
            batch.producer_epoch,
            batch.sequence,
            batch.last - batch.base + 1,
            batch.base,
            BATCHES_KEPT,
        )
    return row._replace(
        log=(*log, *records),
        cache=cache_append(row.cache, batch.base, records),
        producers=producers,
    )


def cut(row: Row, offset: int, found: Sequence[disk.Batch]) -> Row:
    """Truncation; of producers `steps` asks nothing then. found: the batches that were there."""
    end = len(row.log)
    if offset >= end:
        return row._replace(cache=cache_truncate(row.cache, end))
    whole = min([offset, *(each.base for each in found if each.base < offset <= each.last)])
    return row._replace(
        log=(*row.log[:whole], *[GONE] * (offset - whole)),
        start=min(row.start, offset),
        high_watermark=min(row.high_watermark, offset),
        cache=cache_truncate(row.cache, offset),
    )


def trim(row: Row, start: int) -> Row:
    """DeleteRecords and retention: not above the high watermark."""
    if not row.start < start <= row.high_watermark:
        return row
    return row._replace(
        log=trimmed(row.log, start), start=start, cache=cache_trimmed(row.cache, start)
    )


def steps(row: Row, operation: Operation, found: Sequence[disk.Batch], limit: int) -> Iterator[Row]:
    """The rows that may be next. found: the batches that are there before it. limit: the most bytes
    that an append may have."""
    words = operation.words
    match operation.name:
        case "leader":
            yield from _leader(row, operation, limit)
        case "follower":
            yield from _follower(row, operation, limit)
        case "truncate":
            yield cut(row, int(words[0]), found)
        case "anew":
            offset = int(words[0])
            yield Row(empty_log_at(offset), offset, offset, (), ())
        case "hw":
            bound = min(max(int(words[0]), row.start), len(row.log))
            yield row._replace(high_watermark=bound)
        case "start":
            yield trim(row, int(words[0]))
        case "retain":
            yield row
            for each in (*(batch.base for batch in found), len(row.log)):
                yield trim(row, each)
        case _:
            yield row


def _refused(row: Row, epoch: int) -> Iterator[Row]:
    """An epoch is noted before an append is judged, as Kafka does (UnifiedLog.append)."""
    end = len(row.log)
    noted = cache_append(row.cache, end, (Record(epoch, 0, -1, -1, -1, -1, -1),))
    yield row._replace(cache=noted)


def _leader(row: Row, operation: Operation, limit: int) -> Iterator[Row]:
    epoch = int(operation.words[0])
    batch = disk.header_of(disk.moved(bytes.fromhex(operation.words[2]), len(row.log), epoch))
    client = operation.words[1] == "client"
    if client and (batch.is_control or batch.producer >= 0 > batch.sequence):
        yield row  # What no client may append is refused before its epoch is noted.
        return
    refused = batch.size > limit
    if client and batch.producer >= 0:
        values = tuple(range(batch.last - batch.base + 1))
        asked = Request(batch.producer, batch.producer_epoch, batch.sequence, values)
        refused |= duplicate_in(row.producers, asked) >= 0
        refused |= sequence_error(row.producers, asked) != "NONE"
    if not refused:
        yield appended(row, batch)
    if refused or batch.producer >= 0:  # By the state of transactions, which is none of the row's.
        yield _noted(row, [batch])


def _follower(row: Row, operation: Operation, limit: int) -> Iterator[Row]:
    epoch = int(operation.words[0])
    given = [batch for _, batch in disk.batches_of(bytes.fromhex(operation.words[1]))]
    known = [batch for batch in given if batch.epoch <= epoch]
    refused = sum(batch.size for batch in known) > limit
    if not refused:
        after = row
        for batch in known:
            after = appended(after, batch)
        yield after
    if refused or any(batch.producer >= 0 for batch in known):
        yield _noted(row, known)


def _noted(row: Row, refused: Sequence[disk.Batch]) -> Row:
    """Epochs are noted before an append is judged, as in Kafka (UnifiedLog.append)."""
    cache = row.cache
    for batch in refused:
        cache = cache_append(cache, batch.base, records_of(batch)[:1])
    return row._replace(cache=cache)


# -- An engine that is looked at


class Parted(NamedTuple):
    """An operation that is no step. fields: of the row that no step gives."""

    operation: str
    fields: tuple[str, ...]
    before: Row
    after: Row


class Refined(Story):
    """A story, each of whose operations is to be a step. steps: how many changed the row."""

    parted: list[Parted]
    steps: int

    def perform(self, operation: Operation) -> None:
        """Raises OSError."""
        before = row_of(self.broker.log)
        found = [batch for each in self.broker.log.segments for _, batch in each.batches()]
        super().perform(operation)
        after = row_of(self.broker.log)
        self.steps = getattr(self, "steps", 0) + (before != after)
        self.parted = getattr(self, "parted", [])
        expected = [
            _reloaded(each, after, operation)
            for each in steps(before, operation, found, self.rules.config.segment_bytes)
        ]
        if after not in expected:
            nearest = min((_differ(each, after) for each in expected), key=len)
            self.parted.append(Parted(operation.name, nearest, before, after))


def _differ(one: Row, other: Row) -> tuple[str, ...]:
    return tuple(name for name, a, b in zip(Row._fields, one, other, strict=True) if a != b)


def _reloaded(row: Row, after: Row, operation: Operation) -> Row:
    """Where the engine reads its log again: it ends with its last batch, the high watermark is that
    of the checkpoint, epochs that begin at the end are forgotten, and producers may be those of the
    log, or more."""
    if operation.name in ("truncate", "stop", "crash"):
        row = row._replace(producers=after.producers)
    if operation.name in ("stop", "crash"):
        end = len(row.log)
        while end > row.start and row.log[end - 1] == GONE:
            end -= 1
        hw = max(min(after.high_watermark, row.high_watermark, end), row.start)
        return row._replace(
            log=row.log[:end], cache=cache_truncate(row.cache, end), high_watermark=hw
        )
    return row
