"""The log of a partition: appends, rolls, flushes, what is stable (UnifiedLog, LocalLog).

What Kafka leaves to its scheduler waits in `tasks` until `run_tasks`: the flush behind a roll, the
epoch file behind a truncation, the files of deleted segments. `now` is the clock, in milliseconds.
`loading.load` makes a Log of a folder; cutting.py, retention.py and cleaning.py take from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from kraftcheck.reference.storage.batches import (
    Batch,
    batches_of,
    fault_of,
    header_of,
    moved,
    records_of,
)
from kraftcheck.reference.storage.epochs import Epochs
from kraftcheck.reference.storage.files import Files, remove
from kraftcheck.reference.storage.indexes import Aborted
from kraftcheck.reference.storage.producers import Completed, Origin, Producers, Refused, Update
from kraftcheck.reference.storage.rules import StorageRules
from kraftcheck.reference.storage.segment import Segment


class Log:
    """segments: ascending, never empty.

    end: the offset of the next append. recovery_point: below, all is durable. names_changed:
    whether files have come or gone since names were synced.
    """

    def __init__(
        self, files: Files, folder: str, rules: StorageRules, now: int, epochs: Epochs
    ) -> None:
        self.files, self.folder, self.rules, self.now = files, folder, rules, now
        self.epochs = epochs
        self.producers = Producers(files, folder)
        self.segments: list[Segment] = []
        self.end = self.start = self.high_watermark = self.recovery_point = 0
        self.first_unstable: int | None = None
        self.replayed = False
        self.tasks: list[Callable[[], None]] = []
        self.names_changed = True

    # -- Segments

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    def between(self, start: int, end: int) -> list[Segment]:
        """Those that begin below end, from the one that start lies in."""
        if start >= end:
            return []
        floor = max((each.base for each in self.segments if each.base <= start), default=0)
        return [each for each in self.segments if floor <= each.base < end]

    def open_segment(self, base: int, suffix: str = "") -> Segment:
        self.names_changed = True
        return Segment(self.files, self.folder, base, self.rules, self.now, suffix)

    def run_tasks(self) -> None:
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task()

    # -- Appending

    def append_as_leader(self, data: bytes, epoch: int, origin: Origin = "client") -> int:
        """One batch; its first offset, or that of the batch of which it is a retry (D1).

        Raises Refused, OSError.
        """
        if why := fault_of(data):
            raise Refused("CORRUPT_MESSAGE", why)
        if origin == "client" and (why := self._client_refused(header_of(data))):
            raise Refused("INVALID_RECORD", why)
        return self._append(moved(data, self.end, epoch), origin)

    def _client_refused(self, batch: Batch) -> str:
        if why := self.rules.client_batch_refused(batch):
            return why
        keyless = self.rules.keyless_refused() and any(
            each.key is None for each in records_of(batch)
        )
        return "a record without a key in a compacted log" if keyless else ""

    def append_as_follower(self, data: bytes, epoch: int) -> int:
        """Append the batches of a fetch, up to the first of a later epoch than this (D2).

        Returns the first offset. Raises Refused, OSError.
        """
        known = b""
        for _, batch in batches_of(data):
            if batch.epoch > epoch:
                break
            if why := fault_of(batch.data):
                raise Refused("CORRUPT_MESSAGE", why)
            known += batch.data
        return self._append(known, "replication") if known else self.end

    def _append(self, data: bytes, origin: Origin) -> int:
        batches = [batch for _, batch in batches_of(data)]
        first, last = batches[0].base, batches[-1].last
        if first < self.end:
            raise Refused("UNEXPECTED_OFFSET", f"{first} is below the end, {self.end}")
        if any(late.last <= early.last for early, late in pairwise(batches)):
            raise Refused("OFFSETS_OUT_OF_ORDER", f"from {first} on")
        for batch in batches:
            self.epochs.assign(batch.epoch, batch.base)
        if len(data) > self.rules.config.segment_bytes:
            raise Refused("RECORD_LIST_TOO_LARGE", f"{len(data)} bytes")
        latest = max(batch.max_time for batch in batches)
        if self.active.rolls(len(data), latest, last, self.now):
            self.roll(first)
        made, done, retry = self._check(batches, origin)
        if retry is not None:
            return retry
        rises = bool(self.epochs.entries) and self.epochs.entries[-1][1] >= self.end
        if self.active.size == 0 and self.segments[1:] and self.rules.roll_synced(rises):
            self.segments[-2].sync()
            self.files.sync_folder(self.folder)
        self.active.append(last, data)
        if self.rules.end_before_index():
            self._moved(last + 1)
        for each in made.values():
            self.producers.update(each)
        for ended in done:
            stable = self.rules.completed_lso(
                self.producers.open_txns(), ended.first, ended.producer, ended.last
            )
            self.names_changed = self.active.complete(ended, stable) or self.names_changed
            self.producers.complete(ended)
        self._moved(last + 1)
        self.producers.end = last + 1
        self.stabilise()
        if self.end - self.recovery_point >= self.rules.config.flush_messages:
            self.flush(self.end)
        return first

    def _moved(self, end: int) -> None:
        self.end = end
        self.recovery_point = min(self.recovery_point, end)

    def _check(
        self, batches: Sequence[Batch], origin: Origin
    ) -> tuple[dict[int, Update], list[Completed], int | None]:
        """Give what the append does to producers, and the transactions it ends.

        Or the first offset of what it repeats. Raises Refused.
        """
        made: dict[int, Update] = {}
        done: list[Completed] = []
        for batch in batches:
            if batch.producer < 0:
                continue
            if origin == "client" and (known := self.producers.duplicate(batch)) is not None:
                return made, done, known.last - known.delta
            if origin != "replication":
                self._fenced(batch)
            if batch.producer not in made:
                made[batch.producer] = self.producers.prepare(batch.producer, origin)
            ended = made[batch.producer].append(batch)
            if ended is not None:
                done.append(ended)
        return made, done, None

    def _fenced(self, batch: Batch) -> None:
        entry = self.producers.entries.get(batch.producer)
        if entry is not None and batch.is_transactional and batch.producer_epoch < entry.epoch:
            raise Refused("INVALID_PRODUCER_EPOCH", f"{batch.producer_epoch} < {entry.epoch}")

    # -- Rolling, flushing

    def roll(self, first: int = 0) -> None:
        """A new segment, at the end or at what is appended next (D3)."""
        base = max(first, self.end)
        if self.active.base == base:
            if self.active.size:
                raise Refused("SEGMENT_EXISTS", f"a segment at {base} with records in it")
            empty = self.segments.pop()
            _ = empty.offsets, empty.times  # Kafka tells their sizes, and makes them for that.
            empty.rename(".deleted")
            self.segments.append(self.open_segment(base))
            if self.rules.log_renamed_first():
                self.files.sync_folder(self.folder)  # It may be the only one.
            self.later(empty.delete)
        else:
            self.active.close_indexes()
            if self.rules.closing_synced(self.recovery_point, base):
                self.active.sync()
            self.segments.append(self.open_segment(base))
        self._moved(self.end)
        self.producers.end = base
        snapshot = self.producers.snapshot(sync=False)

        def flush() -> None:
            if snapshot is not None and self.files.size(snapshot) is not None:
                self.files.sync(snapshot)
            self.flush(base)

        self.later(flush)

    def flush(self, end: int, including: bool = False) -> None:
        """All below end is durable, and what lies at it if `including` (D5)."""
        target = end + 1 if including else end
        if target <= self.recovery_point:
            return
        flushed = self.between(self.recovery_point, target)
        for each in flushed:
            each.sync()
        begins = any(each.base >= self.recovery_point for each in flushed)
        if self.rules.folder_synced(begins, self.names_changed):
            self.files.sync_folder(self.folder)
            self.names_changed = False
        self.recovery_point = max(self.recovery_point, self.rules.flushed_upto(end, self.end))

    def later(self, task: Callable[[], None]) -> None:
        self.tasks.append(task)
        self.names_changed = True

    # -- Offsets

    def update_high_watermark(self, offset: int) -> None:
        self.high_watermark = min(max(offset, self.start), self.end)
        self.producers.high_watermark_moved(self.high_watermark)
        self.stabilise()

    @property
    def last_stable(self) -> int:
        """Below it every transaction has ended, and all is committed."""
        first = self.first_unstable
        return self.high_watermark if first is None else min(first, self.high_watermark)

    def stabilise(self) -> None:
        """Look anew for the first transaction without an end that is committed."""
        first = self.producers.first_unstable()
        if first is not None and (first < self.start or self.replayed):
            # Kafka asks the log where that lies, which may be behind it by now.
            following = self._from(max(first, self.start))
            first = self.end if following is None else max(following.base, self.start)
        self.first_unstable = first

    def _from(self, offset: int) -> Batch | None:
        """The batch that has the offset, or else the next one."""
        for segment in self.between(offset, self.end):
            if (found := segment.find(offset)) is not None:
                return found[1]
        return None

    def increment_start(self, offset: int) -> bool:
        """DeleteRecords and retention (D9). Raises Refused: above the high watermark."""
        if offset > self.high_watermark:
            raise Refused("OFFSET_OUT_OF_RANGE", f"{offset} is above {self.high_watermark}")
        if offset <= self.start:
            return False
        self.raise_start(offset)
        return True

    def raise_start(self, offset: int) -> None:
        self.start = offset
        if self.high_watermark < offset:
            self.update_high_watermark(offset)
        self.recovery_point = max(self.recovery_point, offset)
        if self.epochs.cut_start(offset):
            self.later(self.epochs.write)
        self.producers.log_start_moved(offset)
        self.stabilise()

    # -- Deleting

    def delete(self, going: Sequence[Segment]) -> None:
        """Segments, with their snapshots: renamed now, gone later."""
        for each in going:
            each.rename(".deleted")
        for each in going:
            self.later(each.delete)
        self.delete_snapshots(going)

    def delete_snapshots(self, of: Sequence[Segment]) -> None:
        paths = [path for each in of if (path := self.producers.mark_removed(each.base))]
        for path in paths:
            self.later(partial(remove, self.files, path))

    def cut_epochs(self) -> None:
        """The file follows what was forgotten, now or later (D7, D18)."""
        if self.rules.epochs_cut_at_once():
            self.epochs.write()
        else:
            self.later(self.epochs.write)

    # -- Producers

    def rebuild_producers(self, end: int, clean: bool) -> None:
        """Rebuild producers from the latest snapshot and what follows it (D18).

        Take snapshots at the last two segments and at the end.
        """
        marks = {each.base for each in self.segments[-2:]} | {end}
        self.replayed = True
        producers = self.producers
        if not producers.snapshots and clean:
            for each in sorted(marks):
                producers.end = each
                producers.snapshot()
            return
        empty = not producers.entries and not producers.closed and producers.end >= end
        producers.truncate_and_reload(self.start, end)
        if not self.rules.snapshot_suffices():
            self._recall(producers.end)
        if end > producers.end and not empty:
            for segment in self.between(producers.end, end):
                start = max(segment.base, producers.end, self.start)
                producers.end = start
                if segment.base in marks:
                    producers.snapshot()
                self._replay(segment, start, end)
        producers.end = end
        producers.snapshot()
        if not self.rules.snapshot_suffices():
            producers.high_watermark_moved(self.high_watermark)

    def _replay(self, segment: Segment, start: int, end: int) -> None:
        made: dict[int, Update] = {}
        done: list[Completed] = []
        for _, batch in segment.batches():
            if batch.last >= end:
                break
            if batch.last < start or batch.producer < 0:
                continue
            if batch.producer not in made:
                made[batch.producer] = self.producers.prepare(batch.producer, "replication")
            if (ended := made[batch.producer].append(batch)) is not None:
                done.append(ended)
        for each in made.values():
            self.producers.update(each)
        for ended in done:
            self.producers.complete(ended)

    def _recall(self, end: int) -> None:
        """The batches below a snapshot that it does not have: retries of them are told, too.

        And transactions that ended there: their markers may lie above the high watermark.
        """
        if not self.producers.entries:
            return
        fresh = Producers(self.files, self.folder)
        for segment in self.between(self.start, end):
            for _, batch in segment.batches():
                if batch.last >= end:
                    break
                if batch.producer >= 0:
                    made = fresh.prepare(batch.producer, "replication")
                    done = made.append(batch)
                    fresh.update(made)
                    if done is not None:
                        fresh.complete(done)
        self.producers.closed = fresh.closed
        for producer, entry in self.producers.entries.items():
            known = fresh.entries.get(producer)
            if known is None or known.epoch != entry.epoch or not known.batches:
                continue
            if not entry.batches or known.batches[-1][:3] == entry.batches[-1][:3]:
                entry.batches = known.batches

    # -- Reading, stopping

    def read(self, offset: int, upto: int) -> list[Batch]:
        """The batches from the one with this offset on, below another offset."""
        found: list[Batch] = []
        for segment in self.between(offset, upto):
            if (place := segment.find(offset)) is None:
                continue
            for _, batch in segment.batches(place[0]):
                if batch.base >= upto:
                    return found
                found.append(batch)
        return found

    def aborted(self, start: int, upper: int, of: Segment) -> list[Aborted]:
        """Aborted transactions that touch these offsets, from this segment's index on."""
        found: list[Aborted] = []
        for segment in self.segments[self.segments.index(of) :]:
            rows, complete = segment.txns.between(start, upper)
            found += rows
            if complete:
                break
        return found

    def close(self) -> None:
        """At a clean stop, after the flush (D19)."""
        self.producers.snapshot()
        for each in self.segments:
            each.close()
