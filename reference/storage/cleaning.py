"""Compaction: of each key the last value stays, where it was (D11 to D14; Cleaner, LogCleaner)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from kraftcheck.reference.storage.batches import Batch, Record, encoded, records_of
from kraftcheck.reference.storage.indexes import Aborted
from kraftcheck.reference.storage.loading import CLEANED, DELETED, SWAP
from kraftcheck.reference.storage.log import Log
from kraftcheck.reference.storage.segment import Segment


class _Transactions:
    """What is known of transactions as batches are read in order (CleanedTransactionMetadata).

    waiting: aborted ones to come. aborted: by producer, with whether data of it is left.
    committed: producers whose transaction has data, as far as it is not aborted.
    """

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Aborted]] = []
        self.aborted: dict[int, tuple[Aborted, bool]] = {}
        self.committed: set[int] = set()

    def add(self, aborted: Sequence[Aborted]) -> None:
        for each in aborted:
            heapq.heappush(self.waiting, (each.first, each))

    def _begin(self, offset: int) -> None:
        while self.waiting and self.waiting[0][0] <= offset:
            each = heapq.heappop(self.waiting)[1]
            self.aborted.setdefault(each.producer, (each, False))

    def data(self, batch: Batch) -> bool:
        """Whether the batch was aborted."""
        self._begin(batch.last)
        if not batch.is_transactional:
            return False
        if batch.producer in self.aborted:
            self.aborted[batch.producer] = self.aborted[batch.producer][0], True
            return True
        self.committed.add(batch.producer)
        return False

    def marker(self, batch: Batch, into: Segment | None = None) -> bool:
        """Whether a marker has no data left. into: the segment whose index is to have it if so."""
        self._begin(batch.last)
        if batch.records == 0:
            return True
        if batch.marker == "ABORT":
            found = self.aborted.pop(batch.producer, None)
            if found is None or not found[1]:
                return True
            if into is not None:
                into.txns.append(found[0])
            return False
        if batch.marker == "COMMIT":
            left = batch.producer in self.committed
            self.committed.discard(batch.producer)
            return not left
        return False


class _Round(NamedTuple):
    offsets: dict[bytes, int]
    """The last one of each key, as far as `mapped`."""
    mapped: int
    upto: int
    """From there on nothing is cleaned."""
    lasts: dict[int, int]
    """The last offset of each producer's data below that."""


def clean(log: Log, first: int, upto: int, keys: int) -> int:
    """Clean what lies below an offset, in one round.

    The round ends where it knows keys no longer, which is where the next one begins. first: of the
    first dirty offset. keys: so many it can tell apart.
    """
    if log.rules.flushes_before_cleaning():
        log.flush(log.end)
    offsets, mapped = _map(log, first, upto, keys)
    lasts = _lasts(log, upto) if log.rules.last_by_committed() else {}
    transactions = _Transactions()
    for group in _groups(log, mapped + 1, upto):
        if not log.rules.transactions_across_groups():
            transactions = _Transactions()
        _clean_group(log, group, _Round(offsets, mapped, upto, lasts), transactions)
    return mapped + 1


def first_uncleanable(log: Log) -> int:
    """D11; of the segment that it lies in, the first offset."""
    bound = log.rules.uncleanable(log.last_stable, log.high_watermark, log.active.base, log.end)
    return max(each.base for each in log.segments if each.base <= max(bound, log.segments[0].base))


def _lasts(log: Log, upto: int) -> dict[int, int]:
    return {
        batch.producer: batch.last
        for segment in log.between(0, upto)
        for _, batch in segment.batches()
        if batch.producer >= 0 and not batch.is_control and batch.last < upto
    }


def _collected(log: Log, start: int, upper: int) -> list[Aborted]:
    floor = [each for each in log.segments if each.base <= start]
    return log.aborted(log.start, upper, floor[-1]) if floor else []


def _map(log: Log, first: int, upto: int, keys: int) -> tuple[dict[bytes, int], int]:
    """The last offset of each key, and the last offset that was looked at."""
    offsets: dict[bytes, int] = {}
    mapped = -1
    dirty = log.between(first, upto)
    transactions = _Transactions()
    transactions.add(_collected(log, first, upto))
    for at, segment in enumerate(dirty):
        for _, batch in segment.batches(segment.offsets.position(first)):
            if batch.is_control:
                transactions.marker(batch)
            elif not transactions.data(batch):
                for record in records_of(batch):
                    if record.key is not None and record.offset >= first:
                        if len(offsets) >= keys:
                            return offsets, mapped
                        offsets[record.key] = mapped = record.offset
            if batch.last >= first:
                mapped = batch.last
        mapped = (dirty[at + 1].base if at + 1 < len(dirty) else upto) - 1
    return offsets, mapped


def _groups(log: Log, end: int, upto: int) -> list[list[Segment]]:
    """Neighbours that fit into one segment together."""
    limit = log.rules.config.segment_bytes
    room = log.rules.config.index_bytes
    groups: list[list[Segment]] = []
    rows = log.between(0, end)
    for segment in rows:
        if groups:
            group = groups[-1]
            sizes = [
                sum(each.size for each in group) + segment.size <= limit,
                sum(len(each.offsets.rows) for each in (*group, segment)) * 8 <= room,
                sum(len(each.times.rows) for each in (*group, segment)) * 12 <= room,
            ]
            if all(sizes):
                group.append(segment)
                continue
        groups.append([segment])
    return groups


def _clean_group(
    log: Log,
    group: Sequence[Segment],
    of: _Round,
    transactions: _Transactions,
) -> None:
    old = Segment(log.files, log.folder, group[0].base, log.rules, log.now, CLEANED)
    old.delete()
    cleaned = Segment(log.files, log.folder, group[0].base, log.rules, log.now, CLEANED)
    for at, segment in enumerate(group):
        if at + 1 < len(group):
            upper = group[at + 1].base
        else:
            upper = log.rules.aborted_above(of.mapped + 1, segment.next_offset())
        transactions.add(_collected(log, segment.base, upper))
        for _, batch in segment.batches():
            kept = _kept(log, batch, of, transactions, cleaned)
            if kept:
                cleaned.append(batch.last, kept)
    cleaned.close_indexes()
    cleaned.sync()
    log.files.set_modified(cleaned.path(".log"), log.files.modified(group[-1].path(".log")))
    _replace(log, cleaned, group)


def _kept(
    log: Log,
    batch: Batch,
    of: _Round,
    transactions: _Transactions,
    cleaned: Segment,
) -> bytes:
    """What is left of a batch; nothing, if it goes as a whole (D12, D13)."""
    rules = log.rules
    idle = transactions.marker(batch, cleaned) if batch.is_control else transactions.data(batch)
    gone = idle
    if batch.is_control:
        gone = (
            idle and batch.horizon is not None and not rules.tombstone_kept(batch.horizon, log.now)
        )
    is_last = _is_last_of_producer(log, batch) or of.lasts.get(batch.producer) == batch.last
    stays = (is_last and rules.keeps_last_of_producer()) or (
        batch.last + 1 == of.upto and rules.keeps_last_of_round()
    )
    if gone and not stays:
        return b""

    def retained(record: Record) -> bool:
        if gone or batch.is_control:
            return not gone
        if record.offset > of.mapped:
            return True
        if record.key is None or record.offset < of.offsets.get(record.key, -1):
            return False
        return record.value is not None or rules.tombstone_kept(batch.horizon, log.now)

    before = list(records_of(batch))
    after = [each for each in before if retained(each)]
    if not after:
        return encoded(batch, ()) if stays else b""
    tombstones = any(each.value is None for each in after)
    dated = (tombstones or (idle and batch.is_control)) and batch.horizon is None
    if len(after) == len(before) and not dated:
        return batch.data
    horizon = log.now + rules.config.delete_retention if dated else batch.horizon
    return encoded(batch, after, horizon)


def _is_last_of_producer(log: Log, batch: Batch) -> bool:
    entry = log.producers.entries.get(batch.producer)
    if batch.producer < 0 or entry is None:
        return False
    if entry.batches:
        return batch.last == entry.batches[-1].last
    return batch.is_control and batch.producer_epoch == entry.epoch


def _replace(log: Log, cleaned: Segment, group: Sequence[Segment]) -> None:
    """D14: safe as long as renames stay in order, or are synced."""
    _settled(log)
    cleaned.rename(SWAP)
    _settled(log)
    for each in group:
        each.rename(DELETED)
        _settled(log)
    for each in group:
        log.tasks.append(each.delete)
    cleaned.rename("")
    log.files.sync_folder(log.folder)
    at = log.segments.index(group[0])
    log.segments[at : at + len(group)] = [cleaned]
    log.delete_snapshots(group[1:])


def _settled(log: Log) -> None:
    if log.rules.cleaning_synced():
        log.files.sync_folder(log.folder)
