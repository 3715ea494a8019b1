"""A segment: a file of batches from one offset on, with its indexes (LogSegment)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from kraftcheck.reference.storage.batches import (
    Batch,
    Corrupt,
    batches_of,
    fault_of,
    header_of,
    pieces,
)
from kraftcheck.reference.storage.epochs import Epochs
from kraftcheck.reference.storage.files import Files
from kraftcheck.reference.storage.indexes import Aborted, OffsetIndex, TimeIndex, TransactionIndex
from kraftcheck.reference.storage.producers import Completed, Producers
from kraftcheck.reference.storage.rules import OFFSETS_MAX, StorageRules

LOG, INDEX, TIMES, TXNS = ".log", ".index", ".timeindex", ".txnindex"
ENDS: Final = (LOG, INDEX, TIMES, TXNS)


class TooFar(ValueError):
    """An offset that the indexes of its segment cannot name."""


class Segment:
    """The files are `FOLDER/BASE END`, and a suffix while they are no part of the log.

    Offset and time index are made, or read, when they are first needed.
    """

    def __init__(
        self,
        files: Files,
        folder: str,
        base: int,
        rules: StorageRules,
        now: int,
        suffix: str = "",
    ) -> None:
        self.files, self.folder, self.base, self.rules = files, folder, base, rules
        self.suffix = suffix
        files.create(self.path(LOG))
        self.size = files.size(self.path(LOG)) or 0
        self._offsets: OffsetIndex | None = None
        self._times: TimeIndex | None = None
        self.txns = TransactionIndex(files, self.path(TXNS))
        self.created = now
        self._first_time: int | None = None
        self._latest: tuple[int, int] | None = None
        self._since_entry = 0

    def path(self, end: str) -> str:
        return f"{self.folder}/{self.base:020}{end}{self.suffix}"

    @property
    def offsets(self) -> OffsetIndex:
        if self._offsets is None:
            limit = self.rules.config.index_bytes
            self._offsets = OffsetIndex(self.files, self.path(INDEX), self.base, limit)
        return self._offsets

    @property
    def times(self) -> TimeIndex:
        if self._times is None:
            limit = self.rules.config.index_bytes
            self._times = TimeIndex(self.files, self.path(TIMES), self.base, limit)
        return self._times

    @property
    def latest(self) -> tuple[int, int]:
        """The largest timestamp so far, -1 without any, and the last offset of its batch."""
        if self._latest is None:
            self._latest = self.times.last
        return self._latest

    def largest_time(self) -> int:
        """By which retention goes; without timestamps, when the file was changed."""
        found = self.latest[0]
        return found if found >= 0 else self.files.modified(self.path(LOG))

    def data(self) -> bytes:
        return self.files.read(self.path(LOG))[: self.size]

    def batches(self, at: int = 0) -> Iterator[tuple[int, Batch]]:
        """Raises Corrupt."""
        return batches_of(self.data(), at)

    # -- Appending

    def waited(self, latest: int, now: int) -> int:
        """Milliseconds that the segment has been open, by the timestamps if there are any."""
        if self._first_time is None:
            first = next(self.batches(), None)
            self._first_time = None if first is None else first[1].max_time
        if self._first_time is not None and self._first_time >= 0:
            return latest - self._first_time
        return now - self.created

    def rolls(self, incoming: int, latest: int, last: int, now: int) -> bool:
        """Whether an append of this size, largest timestamp and last offset begins a new one."""
        full = self.offsets.is_full or self.times.is_full
        waited = self.waited(latest, now)
        return self.rules.rolls(self.size, incoming, waited, full, last - self.base)

    def append(self, last: int, data: bytes) -> None:
        """Batches as they are to lie. last: of the last offset. Raises TooFar, OutOfOrder."""
        position = self.size
        if not 0 <= last - self.base <= OFFSETS_MAX:
            raise TooFar(f"offset {last} in the segment of {self.base}")
        # Kafka makes the time index after the write, and an error there leaves what was written.
        _ = self.offsets, self.times
        self.files.write(self.path(LOG), position, data)
        self.size += len(data)
        for _, batch in batches_of(data):
            if batch.max_time > self.latest[0]:
                self._latest = batch.max_time, batch.last
            if self.rules.index_due(self._since_entry):
                self._enter(batch.last, position)
                self._since_entry = 0
            position += batch.size
            self._since_entry += batch.size

    def _enter(self, offset: int, position: int) -> None:
        full = self.offsets.is_full or self.times.is_full
        if not (full and self.rules.skips_when_full()):
            self.offsets.append(offset, position)
            self.times.maybe_append(*self.latest)

    def complete(self, done: Completed, stable: int) -> bool:
        """Whether a file has come with it: the first aborted transaction makes the index."""
        existed = self.txns.exists
        if done.aborted:
            self.txns.append(Aborted(done.producer, done.first, done.last, stable))
        return self.txns.exists and not existed

    # -- Looking up

    def find(self, offset: int) -> tuple[int, Batch] | None:
        """Position and header of the batch that has the offset, or else of the next one."""
        for position, batch in self.batches(self.offsets.position(offset)):
            if batch.last >= offset:
                return position, batch
        return None

    def first_batch(self) -> Batch | None:
        """None: there is none, or it is torn."""
        with suppress(Corrupt):
            return next((batch for _, batch in self.batches()), None)
        return None

    def last_batch(self) -> Batch | None:
        start = self.find(self.offsets.last)
        if start is None:
            return None
        return [batch for _, batch in self.batches(start[0])][-1]

    def next_offset(self) -> int:
        """After the last batch."""
        last = self.last_batch()
        return self.base if last is None else last.last + 1

    # -- Durability

    def sync(self) -> None:
        self.files.sync(self.path(LOG))
        self.offsets.sync()
        self.times.sync()
        self.txns.sync()

    def close_indexes(self) -> None:
        """What a segment needs to which nothing is appended any more (D4)."""
        self.times.maybe_append(*self.latest, closing=True)
        self.offsets.trim()
        self.times.trim()

    def close(self) -> None:
        """At a clean stop: indexes that nobody used stay as they are."""
        if self._latest is not None:
            self.times.maybe_append(*self._latest, closing=True)
        for index in (self._offsets, self._times):
            if index is not None:
                index.trim()
        self.files.sync(self.path(LOG))

    def open_indexes(self) -> None:
        """Room for more."""
        self.offsets.resize(self.rules.config.index_bytes)
        self.times.resize(self.rules.config.index_bytes)

    def rename(self, suffix: str) -> None:
        """The log first: indexes without one are deleted at a start, or follow it."""
        before = [self.path(end) for end in ENDS]
        self.suffix = suffix
        for old, end in zip(before, ENDS, strict=True):
            if self.files.size(old) is not None:
                self.files.rename(old, self.path(end))
                if end == LOG and self.rules.log_renamed_first():
                    self.files.sync_folder(self.folder)
        for index, end in ((self._offsets, INDEX), (self._times, TIMES), (self.txns, TXNS)):
            if index is not None:
                index.path = self.path(end)

    def delete(self) -> None:
        for end in ENDS:
            if self.files.size(self.path(end)) is not None:
                self.files.unlink(self.path(end))

    # -- Cutting and recovering

    def truncate(self, offset: int, now: int) -> int:
        """Batches from the one that has the offset on go (D7); how many bytes."""
        found = self.find(offset)
        self.offsets.cut(offset)
        self.times.cut(offset)
        self.txns.cut(offset)
        self.open_indexes()
        cut = 0 if found is None else self.size - found[0]
        if found is not None:
            self._resize(found[0])
        if self.size == 0:
            self.created, self._first_time = now, None
        self._since_entry = 0
        if self.rules.rereads_time(self.latest[0]):
            self._latest = self._largest()
        return cut

    def _largest(self) -> tuple[int, int]:
        time, offset = self.times.last
        after = (-1, -1)
        for _, batch in self.batches(self.offsets.position(offset)):
            if batch.max_time > after[0]:
                after = batch.max_time, batch.last
        return after if after[0] > time else (time, offset)

    def _resize(self, size: int) -> None:
        if size < self.size:
            self.files.resize(self.path(LOG), size)
            self.size = size

    def recover(self, producers: Producers, epochs: Epochs, before: Batch | None = None) -> int:
        """Indexes, epochs and producers anew from the batches, up to the first that is none (D17).

        before: the last batch of the segment before. Returns how many bytes were cut. Raises
        OutOfOrder: offsets that fall.
        """
        self.offsets.reset()
        self.times.reset()
        self.txns.reset()
        valid = entry_at = 0
        self._latest = None
        data = self.data()
        try:
            for position, piece in pieces(data):
                if fault_of(piece):
                    break
                batch = header_of(piece)
                if before is not None and not self.rules.fits(batch, before):
                    break
                if not 0 <= batch.last - self.base <= OFFSETS_MAX:
                    raise TooFar(f"offset {batch.last} in the segment of {self.base}")
                if batch.max_time > self.latest[0]:
                    self._latest = batch.max_time, batch.last
                if self.rules.index_due(valid - entry_at):
                    self._enter(batch.last, position)
                    entry_at = valid
                valid += batch.size
                if self.rules.assigns_epoch(batch.epoch, epochs.latest):
                    epochs.assign(batch.epoch, batch.base)
                self._replay(producers, batch)
                before = batch
        except Corrupt:
            pass
        cut = self.size - valid
        self._resize(valid)
        self.offsets.trim()
        self.times.maybe_append(*self.latest, closing=True)
        self.times.trim()
        return cut

    def _replay(self, producers: Producers, batch: Batch) -> None:
        if batch.producer >= 0:
            made = producers.prepare(batch.producer, "replication")
            done = made.append(batch)
            producers.update(made)
            if done is not None:
                stable = self.rules.completed_lso(
                    producers.open_txns(), done.first, done.producer, done.last
                )
                self.complete(done, stable)
                producers.complete(done)
        producers.end = batch.last + 1
