"""What a partition knows of producers: their last batches, and transactions without a marker.

(T1, T2; org.apache.kafka.storage.internals.log: ProducerStateManager, ProducerAppendInfo,
ProducerStateEntry.) Snapshots of it have one batch of each producer.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

import google_crc32c
import msgspec

from kraftcheck.reference.storage.batches import NOBODY, SEQUENCES, Batch, coordinator_epoch_of
from kraftcheck.reference.storage.files import Files
from kraftcheck.reference.storage.rules import BATCHES_KEPT

Origin: TypeAlias = Literal["client", "coordinator", "replication"]
SNAPSHOT: Final = struct.Struct(">qhiqiqiq")
"""Producer, epoch, last sequence and offset, offset delta, timestamp, coordinator's epoch, first
offset of its open transaction."""


class Refused(ValueError):
    """An append that Kafka refuses. error: its name for that."""

    def __init__(self, error: str, why: str) -> None:
        super().__init__(why)
        self.error = error


class Malformed(ValueError):
    """A snapshot that is none."""


class Known(NamedTuple):
    """A batch of a producer, as retries are told by it."""

    last_sequence: int
    last: int
    delta: int
    """Last offset less the first."""
    time: int

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.delta) % SEQUENCES


class Entry(msgspec.Struct):
    """What is known of a producer."""

    epoch: int = NOBODY
    batches: tuple[Known, ...] = ()
    """The last ones of its epoch, the latest last."""
    coordinator_epoch: int = -1
    time: int = -1
    """Of its last batch or marker."""
    open: int = -1
    """First offset of its transaction, or -1."""

    def add(self, epoch: int, batches: Iterable[Known]) -> None:
        if epoch != self.epoch:
            self.epoch, self.batches = epoch, ()
        self.batches = (*self.batches, *batches)[-BATCHES_KEPT:]

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NOBODY


class Completed(NamedTuple):
    """A transaction."""

    producer: int
    first: int
    last: int
    """Offset of its marker."""
    aborted: bool


class Update:
    """What an append does to a producer's entry (ProducerAppendInfo)."""

    def __init__(self, producer: int, known: Entry, origin: Origin) -> None:
        self.producer, self.known, self.origin = producer, known, origin
        self.entry = Entry(known.epoch, (), known.coordinator_epoch, known.time, known.open)
        self.begun: list[int] = []

    def append(self, batch: Batch) -> Completed | None:
        """Raises Refused."""
        if not batch.is_control:
            self._data(batch)
            return None
        if batch.records == 0:
            return None  # Emptied by compaction.
        self._epoch(batch)
        coordinator = coordinator_epoch_of(batch)
        if self.entry.coordinator_epoch > coordinator and self.origin != "replication":
            raise Refused("TRANSACTION_COORDINATOR_FENCED", f"epoch {coordinator}")
        done = None
        if self.entry.open >= 0:
            aborted = batch.marker == "ABORT"
            done = Completed(self.producer, self.entry.open, batch.base, aborted)
        self.entry.add(batch.producer_epoch, ())
        self.entry.coordinator_epoch = coordinator
        self.entry.open = -1
        self.entry.time = batch.max_time
        return done

    def _epoch(self, batch: Batch) -> None:
        if batch.producer_epoch < self.entry.epoch and self.origin != "replication":
            raise Refused("INVALID_PRODUCER_EPOCH", f"{batch.producer_epoch} < {self.entry.epoch}")

    def _data(self, batch: Batch) -> None:
        self._epoch(batch)
        if self.origin == "client":
            self._sequence(batch)
        known = Known(batch.last_sequence, batch.last, batch.last - batch.base, batch.max_time)
        self.entry.add(batch.producer_epoch, (known,))
        self.entry.time = batch.max_time
        if self.entry.open >= 0 and not batch.is_transactional:
            raise Refused("INVALID_TXN_STATE", "a transaction is open")
        if self.entry.open < 0 and batch.is_transactional:
            self.entry.open = batch.base
            self.begun.append(batch.base)

    def _sequence(self, batch: Batch) -> None:
        if batch.producer_epoch != self.entry.epoch:
            if batch.sequence != 0 and self.entry.epoch != NOBODY:
                raise Refused("OUT_OF_ORDER_SEQUENCE_NUMBER", f"{batch.sequence} of a new epoch")
            return
        last = self.entry.last_sequence if self.entry.batches else self.known.last_sequence
        if self.known.epoch != NOBODY and batch.sequence != (last + 1) % SEQUENCES:
            raise Refused("OUT_OF_ORDER_SEQUENCE_NUMBER", f"{batch.sequence} after {last}")


class Producers:
    """The state at `end`.

    open: producers by first offset of what has no marker; closed: the offsets of markers above the
    high watermark, by first offset.
    """

    def __init__(self, files: Files, folder: str) -> None:
        self.files, self.folder = files, folder
        self.entries: dict[int, Entry] = {}
        self.open: dict[int, int] = {}
        self.closed: dict[int, int] = {}
        self.end = 0
        self.snapped = 0
        self.load_names()

    def load_names(self) -> None:
        names = [name for name in self.files.list(self.folder) if name.endswith(".snapshot")]
        self.snapshots = sorted(int(name.partition(".")[0]) for name in names)

    def path(self, offset: int) -> str:
        return f"{self.folder}/{offset:020}.snapshot"

    # -- Appending

    def prepare(self, producer: int, origin: Origin) -> Update:
        return Update(producer, self.entries.get(producer, Entry()), origin)

    def update(self, made: Update) -> None:
        entry = self.entries.setdefault(made.producer, Entry())
        entry.add(made.entry.epoch, made.entry.batches)
        entry.coordinator_epoch = made.entry.coordinator_epoch
        entry.time, entry.open = made.entry.time, made.entry.open
        for first in made.begun:
            self.open[first] = made.producer

    def complete(self, done: Completed) -> None:
        # After a loaded snapshot a follower may see the end of what it knows nothing of.
        if self.open.pop(done.first, None) is not None:
            self.closed[done.first] = done.last

    def open_txns(self) -> list[tuple[int, int]]:
        return sorted(self.open.items())

    def duplicate(self, batch: Batch) -> Known | None:
        """The batch of which this is a retry."""
        entry = self.entries.get(batch.producer)
        if entry is None or entry.epoch != batch.producer_epoch:
            return None
        asked = batch.sequence, batch.last_sequence
        return next(
            (each for each in entry.batches if (each.first_sequence, each.last_sequence) == asked),
            None,
        )

    def first_unstable(self) -> int | None:
        return min([*self.open, *self.closed], default=None)

    def high_watermark_moved(self, high_watermark: int) -> None:
        self.closed = {first: last for first, last in self.closed.items() if last >= high_watermark}

    def log_start_moved(self, start: int) -> None:
        self.high_watermark_moved(start)
        self.end = max(self.end, start)
        self.snapped = self.snapshots[-1] if self.snapshots else start

    # -- Snapshots

    def snapshot(self, sync: bool = True) -> str | None:
        """The file of a snapshot at `end`; None: there is one as late."""
        if self.end <= self.snapped:
            return None
        path = self.path(self.end)
        rows = b"".join(_row(producer, entry) for producer, entry in self.entries.items())
        rest = struct.pack(">i", len(self.entries)) + rows
        data = struct.pack(">hI", 1, google_crc32c.value(rest)) + rest
        self.files.create(path)
        self.files.write(path, 0, data)
        if sync:
            self.files.sync(path)
        self.snapshots = sorted({*self.snapshots, self.end})
        self.snapped = self.end
        return path

    def remove(self, offset: int) -> None:
        if offset in self.snapshots:
            self.snapshots.remove(offset)
            if self.files.size(self.path(offset)) is not None:
                self.files.unlink(self.path(offset))

    def mark_removed(self, offset: int) -> str | None:
        """Renamed, to be deleted later; the new path."""
        if offset not in self.snapshots:
            return None
        self.snapshots.remove(offset)
        if self.files.size(self.path(offset)) is None:
            return None
        gone = f"{self.path(offset)}.deleted"
        self.files.rename(self.path(offset), gone)
        return gone

    def remove_strays(self, bases: Iterable[int]) -> None:
        """Those of no segment, but the latest if it lies above all segments."""
        self.load_names()
        known = set(bases)
        strays = [each for each in self.snapshots if each not in known]
        for each in strays[:-1]:
            self.remove(each)
        if strays and known and strays[-1] < max(known):
            self.remove(strays[-1])

    def truncate_and_reload(self, start: int, end: int) -> None:
        """The latest snapshot in (start, end] (D18)."""
        for each in list(self.snapshots):
            if each > end or each <= start:
                self.remove(each)
        if end == self.end:
            self.log_start_moved(start)
            return
        self.entries, self.open, self.closed = {}, {}, {}
        while self.snapshots:
            latest = self.snapshots[-1]
            try:
                read = parsed(self.files.read(self.path(latest)))
            except Malformed:
                self.remove(latest)
                continue
            self.entries = read
            self.open = {each.open: of for of, each in read.items() if each.open >= 0}
            self.snapped = self.end = latest
            return
        self.snapped = self.end = start

    def start_at(self, offset: int) -> None:
        """Nothing is known."""
        self.entries, self.open, self.closed = {}, {}, {}
        for each in list(self.snapshots):
            self.remove(each)
        self.snapped, self.end = 0, offset


def _row(producer: int, entry: Entry) -> bytes:
    last = entry.batches[-1] if entry.batches else Known(NOBODY, -1, 0, -1)
    return SNAPSHOT.pack(
        producer, entry.epoch, last.last_sequence, last.last, last.delta, entry.time,
        entry.coordinator_epoch, entry.open,
    )  # fmt: skip


def parsed(data: bytes) -> dict[int, Entry]:
    """A snapshot. Raises Malformed."""
    if len(data) < 10:
        raise Malformed(f"{len(data)} bytes")
    version, crc, count = struct.unpack_from(">hIi", data)
    if version != 1 or google_crc32c.value(data[6:]) != crc:
        raise Malformed(f"version {version}, or a checksum that does not fit")
    if len(data) != 10 + count * SNAPSHOT.size:
        raise Malformed(f"{len(data)} bytes are not {count} entries")
    found = {}
    for producer, epoch, sequence, last, delta, time, coordinator, first in SNAPSHOT.iter_unpack(
        data[10:]
    ):
        batches = (Known(sequence, last, delta, time),) if last >= 0 else ()
        found[producer] = Entry(epoch, batches, coordinator, time, first)
    return found
