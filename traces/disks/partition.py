"""One directory of a partition: whether what lies in it is what Kafka promises of it.

Each finding has the name of an invariant: BatchesWhole (no batch that is cut or altered, where it
must be whole), NoHole and OffsetsAscend (between batches), EpochsAscend, EpochCacheSound (the epoch
file is that of the log), IndexLowerBound (an entry of an index names a batch; a time bounds all
before it), TxnIndexExact (the transaction index has the aborted transactions, with the offsets that
a leader would have noted), ProducerStateReplays (a snapshot is what the log replays to),
HwWithinLog (checkpoints lie within the log), FilesWhole (what can be read, and has a version that
is known here), NamesParse.

A finding is `violated`, or `unknown`: it cannot be judged here; or a `report`: nothing that Kafka
promises is broken, but an operator wants to know. What a crash may leave is a report.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from kraftcheck.traces.disks import elections, files
from kraftcheck.traces.disks.batches import OFFSET_MAX, Bad, Batch, batches, next_whole
from kraftcheck.traces.disks.files import Aborted, Index, Malformed, Newer
from kraftcheck.traces.disks.found import Common, DiskReplica, Election, Finding, Segment, Weight
from kraftcheck.traces.disks.indexes import Offsets, Part, Room, Rows, Times
from kraftcheck.traces.disks.producers import Open, Producers
from kraftcheck.traces.disks.sums import Sums
from kraftcheck.traces.disks.voters import quorum_of, torn_snapshots, uncovered

HANGING_MS: Final = 15 * 60 * 1000
"""transaction.max.timeout.ms, as it is without a setting."""
METADATA_ID: Final = f"{'A' * 21}Q"
"""Uuid.METADATA_TOPIC_ID."""
TOLD: Final = 5
"""Of each kind so many are told of one file, where each entry of it may be wrong."""
FINDINGS_MAX: Final = 1000
"""So many of a kind are kept of a file, where each batch of it may be wrong."""
PART: Final = 1 << 14
"""Batches that are held against indexes at once."""
ENDED: Final = 150
"""So many transactions are kept: the last."""


class _Judge:
    def __init__(self, folder: Path, common: Common) -> None:
        self.folder, self.common = folder, common
        self.findings: list[Finding] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.producers = Producers()
        self.sums = Sums()
        self.ended: deque[tuple[int, int, int, bool]] = deque(maxlen=ENDED)
        self.transactions = 0
        self.misled: list[tuple[Path, Aborted, Aborted]] = []
        self.layout: list[Segment] = []
        self.epochs: list[tuple[int, int]] = []
        self.epoch_ends: dict[int, int] = {}
        self.noted_epochs: list[tuple[int, int]] = []
        self.election: Election | None = None
        self.expected: int | None = None
        self.lost = False
        self.latest = -1
        self.bytes = self.synced = 0
        self.start: int | None = None

    def note(
        self, weight: Weight, invariant: str, path: Path | None, said: str, position: int = -1
    ) -> None:
        name = "" if path is None else path.name
        self.counts[invariant, name] += 1
        if self.counts[invariant, name] <= FINDINGS_MAX:
            self.findings.append(Finding(weight, invariant, name, position, said))

    def malformed(self, error: Malformed, invariant: str, path: Path) -> None:
        if isinstance(error, Newer):
            self.note("unknown", "FilesWhole", path, str(error), error.position)
        else:
            self.note("violated", invariant, path, str(error), error.position)

    def segment(self, base: int, path: Path, behind: Sequence[Path]) -> bool:
        """behind: the segments after it. Whether a start keeps those."""
        closed = bool(behind) or self.common.stopped
        offsets = self._index(path.with_suffix(".index"), base, files.offset_index)
        times = self._index(path.with_suffix(".timeindex"), base, files.time_index)
        room = None if closed else _room(path, offsets, times)
        checks = [
            None if offsets is None else Offsets(offsets),
            None if times is None else Times(times),
            room,
        ]
        rows, bad = Rows(), None
        index = path.with_suffix(".txnindex")
        entries = files.transaction_index(index) if index.exists() else iter(())
        aborted = self._aborted(entries, index)
        next(aborted)
        last = base - 1
        for each in batches(path):
            if isinstance(each, Bad):
                bad = each
                break
            self._offsets(path, base, each)
            last = each.last
            rows.add(each)
            if len(rows) >= PART:
                _see(checks, rows.part())
            self.sums.add(base, each)
            self._epoch(path, each)
            if (entry := self._append(each)) is not None:
                aborted.send(entry)
            self.latest = max(self.latest, each.max_timestamp)
            if each.last < (self.common.recovery_point or 0):
                self.synced += each.size
        if len(rows):
            _see(checks, rows.part())
        size = path.stat().st_size
        self.bytes += size
        self.layout.append(Segment(base, last + 1, size))
        self.lost |= bad is not None
        kept = bad is None or self._bad(path, bad, behind)
        # What leads to bytes that are no batch is not judged.
        below = (OFFSET_MAX, OFFSET_MAX) if bad is None else (bad.position, last + 1)
        self._tell_indexes(path, checks, offsets, times, closed and bad is None, below)
        aborted.send(None)
        if bad is not None and kept and behind:
            self.expected = int(behind[0].stem)
        return kept

    def _append(self, each: Batch) -> Aborted | None:
        opened = self.producers.open.get(each.producer) if each.marker else None
        entry = self.producers.append(each)
        if opened is not None and opened.producer not in self.producers.open:
            self.transactions += 1
            self.ended.append((each.producer, opened.first, each.last, entry is not None))
        return entry

    def _bad(self, path: Path, bad: Bad, behind: Sequence[Path]) -> bool:
        """Say whether a start of the broker keeps the segments.

        What is not flushed may be torn; a start cuts it, and all segments behind it
        (LogLoader.recoverLog).
        """
        rest = f"{bad.size - bad.position:,} bytes from there"
        if bad.foreign:
            said = f"{bad.why}; {rest} are not judged"
            self.note("unknown", "FilesWhole", path, said, bad.position)
            return True
        known = self.expected if self.expected is not None else int(path.stem)
        flushed = self.common.recovery_point or 0
        # Recovery begins with the segment that has the recovery point.
        is_recovered = not self.common.stopped and not any(
            int(each.stem) <= flushed for each in behind
        )
        torn = is_recovered and known >= flushed
        below = {
            name: mark
            for name, mark in self.common.marks.items()
            if mark is not None and known < mark
        }
        said = f"{bad.why}; {rest} are lost"
        if below:
            marks = [f"the {name} {mark:,}" for name, mark in below.items()]
            said += f", below {', '.join(marks)}"
        weight: Weight = "report" if torn else "damaged"
        if torn and ("high watermark" in below or self.common.synced):
            # A crash leaves a torn end: no whole batch is behind it.
            whole = next_whole(path, bad)
            if whole is not None and whole.base > known:
                weight, said = "damaged", f"{said}; whole batches go on with offset {whole.base}"
            elif self.common.synced and (taken := self._snapshot_beyond(known)):
                weight, said = "damaged", f"{said}; a snapshot was taken at offset {taken}"
            elif below:
                weight, said = "unknown", f"{said}; whether they were ever flushed nothing says"
        if not is_recovered:
            said += "; no start looks at them, whoever reads them fails"
        elif behind:
            more = sum(each.stat().st_size for each in behind)
            said += f"; a start cuts them, and drops {len(behind)} segments behind, {more:,} bytes"
        else:
            said += "; a start cuts them"
        self.note(weight, "BatchesWhole", path, said, bad.position)
        return not is_recovered

    def _snapshot_beyond(self, offset: int) -> int:
        """The offset of the last snapshot of producers, if it is beyond this one; else 0."""
        taken = max(files.snapshots_of(self.folder), default=0)
        return taken if taken > offset else 0

    def _offsets(self, path: Path, base: int, batch: Batch) -> None:
        at = batch.position
        if self.expected is None:
            self.start = batch.base
            if base < batch.base:
                self._begins_late(path, base, batch.base)
        elif batch.base < self.expected:
            said = f"offset {batch.base} comes after {self.expected - 1}"
            self.note("violated", "OffsetsAscend", path, said, at)
        elif batch.base > self.expected and not self.common.compacted:
            said = f"the offsets {self.expected} to {batch.base - 1} are missing"
            # A log that was cut within a batch goes on behind it, in a new epoch.
            cut = bool(self.epochs) and batch.epoch > self.epochs[-1][0]
            weight: Weight = "report" if cut else "violated"
            if self.common.alone and not cut:
                weight, said = "unknown", f"{said}: whether a cleaner was at work nothing says"
            self.note(weight, "NoHole", path, said, at)
        if batch.base < base:
            said = f"offset {batch.base} is below the segment's first, {base}"
            self.note("violated", "OffsetsAscend", path, said, at)
        self.expected = batch.last + 1

    def _begins_late(self, path: Path, base: int, first: int) -> None:
        """A segment begins with the offset that is its name, but where a cleaner was at work."""
        if self.common.compacted:
            return
        said = f"the offsets {base} to {first - 1}, with which the log begins, are missing"
        weight: Weight = "report" if first <= (self.common.log_start or 0) else "violated"
        if weight == "violated" and self.common.alone:
            weight, said = "unknown", f"{said}: whether a cleaner was at work nothing says"
        self.note(weight, "NoHole", path, said, 0)

    def _epoch(self, path: Path, batch: Batch) -> None:
        self.epoch_ends[batch.epoch] = batch.last
        if not self.epochs or batch.epoch > self.epochs[-1][0]:
            self.epochs.append((batch.epoch, batch.base))
        elif batch.epoch < self.epochs[-1][0]:
            said = f"epoch {batch.epoch} at offset {batch.base} comes after {self.epochs[-1][0]}"
            self.note("violated", "EpochsAscend", path, said, batch.position)

    # -- Indexes

    def _tell_indexes(
        self,
        path: Path,
        checks: Sequence[Offsets | Times | Room | None],
        offsets: Index | None,
        times: Index | None,
        closed: bool,
        below: tuple[int, int],
    ) -> None:
        """below: a place and an offset; no entry above them is judged."""
        for check in checks:
            if isinstance(check, Offsets):
                for row, offset, place in check.wrong(TOLD, below[0]):
                    said = f"offset {offset} leads to {place}, where no batch of it begins"
                    at = path.with_suffix(".index")
                    self.note("violated", "IndexLowerBound", at, said, row * 8)
                assert offsets is not None
                self._ascend(path.with_suffix(".index"), offsets, 1)
            elif isinstance(check, Times):
                assert times is not None
                self._tell_times(path.with_suffix(".timeindex"), check, times, closed, below[1])
            elif check is not None and check.needed > check.room:
                said = f"recovery needs {check.needed} entries, and has room for {check.room}"
                at = path.with_suffix(".index")
                self.note("violated", "StartUpTotal", at, f"{said}: no start ends")

    def _tell_times(self, path: Path, check: Times, index: Index, closed: bool, below: int) -> None:
        entries = index.entries
        for row, time, offset, bound in check.wrong(TOLD):
            said = f"{time} is not the latest up to offset {offset}: {bound} is there"
            self.note("violated", "IndexLowerBound", path, said, row * 12)
        for row, time, offset, reached in check.beyond(TOLD, below):
            said = f"{time} is later than all up to offset {offset}, at most {reached}: retention "
            said += "keeps the segment, and all behind it, for too long"
            self.note("violated", "IndexLowerBound", path, said, row * 12)
        for row, time, offset in check.elsewhere(TOLD, below):
            said = f"no batch with the latest time {time} has offset {offset}"
            self.note("report", "IndexLowerBound", path, said, row * 12)
        self._ascend(path, index, 0)
        if not closed:
            return
        if index.zeros and check.latest > 0:
            said = "it ends with zeros: retention takes the segment for one of 1970 and deletes it"
            self.note("violated", "IndexLowerBound", path, said)
        elif entries.size and entries[-1, 0] < check.latest:
            said = f"it ends with {entries[-1, 0]}, the segment with {check.latest}: deleted early"
            self.note("violated", "IndexLowerBound", path, said)
        elif not entries.size and check.latest >= 0:
            said = f"it is empty, the segment ends with {check.latest}: retention goes by when the "
            self.note("violated", "IndexLowerBound", path, f"{said}file was last changed")

    def _ascend(self, path: Path, index: Index, least: int) -> None:
        """least: of the difference of two entries."""
        size = 8 if path.suffix == ".index" else 12
        for row in np.flatnonzero((np.diff(index.entries, axis=0) < least).any(axis=1))[:1]:
            said = "its entries do not ascend"
            self.note("violated", "IndexLowerBound", path, said, (int(row) + 1) * size)

    def _index(self, path: Path, base: int, read: Callable[[Path, int], Index]) -> Index | None:
        """None: there is none, or it is malformed."""
        if not path.exists():
            if not self.common.alone:
                self.note("report", "IndexLowerBound", path, "is missing")
            return None
        try:
            return read(path, base)
        except Malformed as error:
            self.malformed(error, "IndexLowerBound", path)
            return None

    def _aborted(
        self, entries: Iterator[Aborted], path: Path
    ) -> Generator[None, Aborted | None, None]:
        """Hold the aborted transactions of a segment against its transaction index.

        They are sent to it in their order, and None at last.
        """
        try:
            index = _Entries(entries)
            while (each := (yield)) is not None:
                for stranger in index.before(each.last):
                    self._stranger(path, stranger)
                self._entry(path, index.at(each.last), each)
            for stranger in index.before(None):
                self._stranger(path, stranger)
        except Malformed as error:
            self.malformed(error, "TxnIndexExact", path)
            while (yield) is not None:
                pass
        yield

    def _entry(self, path: Path, there: Aborted | None, each: Aborted) -> None:
        if self.lost:
            return  # A transaction may have begun in what cannot be read.
        if there is None:
            # Of a transaction without data left a cleaner leaves no entry.
            if not self.common.compacted:
                said = f"{_told(each)} is not in it: committed readers are shown what was aborted"
                self.note("violated", "TxnIndexExact", path, said)
        elif there.stable < each.stable and there._replace(stable=each.stable) == each:
            said = f"{_told(each)} has the last stable offset {there.stable}, by the log "
            said += f"{each.stable}: readers look further than they need"
            self.note("report", "TxnIndexExact", path, said)
        elif (there.producer, there.first) != (each.producer, each.first):
            said = f"{_told(each)} begins at {there.first} in it"
            self.note("violated", "TxnIndexExact", path, said)
        elif there != each and len(self.misled) < FINDINGS_MAX:
            self.misled.append((path, there, each))

    def _stranger(self, path: Path, there: Aborted) -> None:
        """Not told where the log has lost its beginning, or a cleaner left entries of before."""
        if self.start == 0 and not self.common.compacted and not self.lost:
            said = f"{_told(there)} is in it, and not in the log"
            self.note("violated", "TxnIndexExact", path, said)

    def misleading(self, path: Path, there: Aborted, expected: Aborted) -> None:
        """Find entries of the transaction index that mislead a committed reader.

        Its fetch looks for aborted transactions up to the first entry whose last stable offset is
        not below its end (TransactionIndex.collectAbortedTxns).
        """
        shown = [
            f"{each.first} on (producer {each.producer}) by one that ends above {each.first}"
            for name in files.indexes_from(self.folder, path)
            for each in files.transaction_index(name)
            if each.last > expected.last and each.first < there.stable
        ]
        said = f"{_told(expected)} has the last stable offset {there.stable}, by the log "
        said += f"{expected.stable}: a fetch of a committed reader that begins up to "
        said += f"{expected.last} and ends at most at {there.stable} looks no further"
        if shown:
            said += f", and is shown what was aborted: from {', from '.join(shown[:TOLD])}"
        else:
            said += "; no aborted record is shown by that now"
        self.note("violated", "TxnIndexExact", path, said)

    # -- Beside the segments

    def topic_id(self) -> None:
        path = self.folder / files.TOPIC
        try:
            told = files.topic_id(self.folder)
        except Malformed as error:
            self.malformed(error, "FilesWhole", path)
            return
        if told is None and not self.common.alone:
            self.note("report", "FilesWhole", path, "is missing: no id says which topic it is of")
        if told is not None and self.common.synced and told != METADATA_ID:
            self.note("violated", "FilesWhole", path, f"{told} is not the id of the metadata log")
        self.common = msgspec.structs.replace(self.common, topic_id=told)

    def snapshots(self, before: int) -> None:
        """Those that were taken here, before the segment of this base."""
        path = self.folder / f"{before:020}.snapshot"
        if not path.exists():
            return
        try:
            told = files.snapshot(path)
        except Malformed as error:
            said = f"{error}: an older one is taken"
            weight: Weight = "unknown" if isinstance(error, Newer) else "report"
            self.note(weight, "ProducerStateReplays", path, said, error.position)
            return
        if self.common.compacted or self.lost:
            return
        for said in [*self.producers.differing(told)][:TOLD]:
            self.note("violated", "ProducerStateReplays", path, said)

    def missing_snapshots(self, bases: Collection[int], end: int) -> None:
        """List the producer snapshots that should be there and are not.

        Kafka takes one where a segment begins, and where it closes a log (UnifiedLog.roll, close).
        Without one a start after a clean stop reads no record (UnifiedLog.rebuildProducerState).
        """
        taken = files.snapshots_of(self.folder)
        if self.common.stopped and not taken and self.producers.known:
            path = self.folder / f"{end:020}.snapshot"
            said = "is missing, and there is no other: a start after a clean stop remembers no "
            said += "producer, and appends again what one of them sends again"
            self.note("violated", "ProducerStateReplays", path, said)
            return
        start = max(min(bases, default=0), self.common.log_start or 0)
        wanted = {base for base in bases if base > start}
        if self.common.stopped and end > start and not self.lost:
            wanted.add(end)
        for offset in sorted(wanted - taken.keys()):
            path = self.folder / f"{offset:020}.snapshot"
            self.note("report", "ProducerStateReplays", path, "is missing: an older one is taken")
        for offset, path in taken.items():
            if offset > end and not self.lost:
                self._beyond("the snapshot", path, offset, end, flushed=self.common.synced)

    def epoch_file(self, end: int) -> None:
        path = self.folder / files.EPOCHS
        try:
            told = files.epochs(path)
        except FileNotFoundError:
            if self.epochs and not self.common.alone:
                said = (
                    "is missing: who follows is told of no epoch, and cuts too much or too little"
                )
                self.note("violated", "EpochCacheSound", path, said)
            return
        except Malformed as error:
            self.malformed(error, "EpochCacheSound", path)
            return
        self.noted_epochs = told
        starts = dict(told)
        if [*told] != sorted(told) or len(starts) < len(told):
            self.note("violated", "EpochCacheSound", path, "its entries do not ascend")
        # Below a log start that has risen within a segment the file has nothing.
        begin = told[0] if told else (0, 0)
        for at, (epoch, first) in enumerate(self.epochs):
            if (epoch, first) < begin and begin[1] <= (self.common.log_start or 0):
                continue
            if epoch not in starts:
                said = f"epoch {epoch}, which begins at {first}, is not in it"
                self.note("violated", "EpochCacheSound", path, said)
            elif starts[epoch] > first:
                said = f"epoch {epoch} begins at {starts[epoch]}, by the log at {first}"
                self.note("violated", "EpochCacheSound", path, said)
            elif starts[epoch] < first and at and not self.common.compacted:
                said = f"epoch {epoch} begins at {starts[epoch]}, by the log at {first}"
                self.note("report", "EpochCacheSound", path, said)
        self._strange_epochs(path, told, end)

    def _strange_epochs(self, path: Path, told: Sequence[tuple[int, int]], end: int) -> None:
        """Entries that say where an epoch ends that goes on.

        Of a leader that appended nothing the last entry is at the end of the log; a cut takes back
        what is above it in the background, so a crash may leave such
        (LeaderEpochFileCache.truncateFromEndAsyncFlush).
        """
        may_be = not self.common.stopped and not self.common.synced
        for epoch, start in told:
            if start > end and not self.lost:
                said = f"epoch {epoch} begins at {start}, and the log ends at {end}"
                self.note("report", "EpochCacheSound", path, said)
            goes_on = [
                f"epoch {before} goes on to {last}"
                for before, last in self.epoch_ends.items()
                if before < epoch and start <= last
            ]
            if goes_on:
                said = f"epoch {epoch} begins at {start}, and {goes_on[-1]}"
                is_new = may_be and start >= (self.common.recovery_point or 0)
                self.note("report" if is_new else "violated", "EpochCacheSound", path, said)
        start = max(self.start or 0, self.common.log_start or 0)
        if told and told[0][1] < start and not self.common.compacted:
            said = f"epoch {told[0][0]} begins at {told[0][1]}, and the log at {start}"
            self.note("report", "EpochCacheSound", path, said)

    def checkpoints(self, end: int) -> None:
        if self.lost:
            return  # Said with the bytes that are no batch, below what they are.
        for name, mark in self.common.marks.items():
            if mark is not None and mark > end:
                said = "a start drops all of it" if name == "log start" else ""
                self._beyond(f"the {name}", None, mark, end, name == "recovery point", said)
        for name in self.common.unnoted:
            said = f"its broker notes the {name} of other partitions, and not of it"
            self.note("report", "HwWithinLog", None, said)
        point = self.common.recovery_point
        if self.common.stopped and point is not None and point < end:
            said = f"the recovery point is {point}, and a clean stop flushed the log up to {end}"
            self.note("report", "HwWithinLog", None, said)

    def _beyond(
        self, what: str, path: Path | None, mark: int, end: int, flushed: bool, more: str = ""
    ) -> None:
        """Something that was noted of records that the log has no more.

        Whatever a clean stop finds it flushes; a power loss takes what was not flushed.
        """
        said = f"{what} is {mark}, the log ends at {end}{': ' if more else ''}{more}"
        weight: Weight = "report"
        if what == "the cleaned":
            pass  # A start takes another one (LogCleanerManager.cleanableOffsets).
        elif flushed or self.common.stopped:
            weight, said = "damaged", f"{said}: records that were flushed are gone"
        elif what == "the high watermark":
            weight, said = "unknown", f"{said}: whether the rest was ever flushed nothing says"
        self.note(weight, "HwWithinLog", path, said)

    def elected(self) -> None:
        """Of a metadata log."""
        path = self.folder / elections.FILE
        try:
            self.election = elections.election_of(self.folder)
        except Malformed as error:
            self.malformed(error, "FilesWhole", path)
            return
        if self.election is None:
            if not self.common.alone:
                said = "is missing: a voter may vote twice in an epoch"
                self.note("report", "FilesWhole", path, said)
        elif self.epochs and self.election.epoch < self.epochs[-1][0]:
            said = f"epoch {self.election.epoch} is noted, and the log goes on in "
            self.note("violated", "ElectionSafety", path, f"{said}{self.epochs[-1][0]}")

    def names(self, segments: Collection[Path]) -> None:
        paths = sorted(self.folder.iterdir())
        if left := [path for path in paths if files.LEFT_OVER.fullmatch(path.name)]:
            more = f", and {len(left) - 1} more" if len(left) > 1 else ""
            said = f"is left of a cleaning or a deletion{more}"
            self.note("report", "LeftOver", left[0], said)
        there = {path.stem for path in segments}
        for path in paths:
            if path.suffix == ".log" and path not in segments:
                said = "is not an offset of 20 digits: not judged"
                self.note("report", "NamesParse", path, said)
            elif path.suffix in files.INDEXES and path.stem not in there:
                said = "has no log: a start deletes it"
                self.note("report", "LeftOver", path, said)


class _Entries:
    """Of a transaction index, one after the other."""

    def __init__(self, entries: Iterator[Aborted]) -> None:
        self._entries = entries
        self._next = next(entries, None)

    def before(self, last: int | None) -> Iterator[Aborted]:
        """Those whose marker is below; of all that are left, with None."""
        while self._next is not None and (last is None or self._next.last < last):
            yield self._next
            self._next = next(self._entries, None)

    def at(self, last: int) -> Aborted | None:
        found = self._next
        if found is None or found.last != last:
            return None
        self._next = next(self._entries, None)
        return found


def _told(each: Aborted) -> str:
    return f"the aborted transaction of producer {each.producer} from {each.first} to {each.last}"


def judge(folder: Path, common: Common) -> DiskReplica:
    """What cannot be read is `unknown`, and with it what comes behind."""
    found = _Judge(folder, common)
    segments: dict[int, Path] = {}
    quorum = None
    try:
        segments = files.segments_of(folder)
        _read(found, segments)
        start, end = _bounds(found, segments)
        if why := uncovered(folder, start):
            found.note("violated", "FilesWhole", None, why)
        if common.synced:
            found.elected()
        for path, bad in torn_snapshots(folder):
            weight: Weight = "unknown" if bad.foreign else "violated"
            found.note(weight, "FilesWhole", path, bad.why, bad.position)
        quorum = quorum_of(folder, found.epochs[-1][0] if found.epochs else -1, end)
    except OSError as error:
        at = Path(error.filename) if error.filename else None
        found.note("unknown", "FilesWhole", at if at != folder else None, str(error.strerror))
    start, end = _bounds(found, segments)
    for each in sorted(found.producers.open.values()):
        if (age := found.latest - each.latest) > HANGING_MS:
            said = f"{_open(each)}, {age / 60000:,.0f} minutes before the log's last: hanging"
            found.note("report", "TransactionsEnd", None, said)
    for (invariant, file), count in found.counts.items():
        if (more := count - FINDINGS_MAX) > 0:
            found.findings.append(Finding("report", invariant, file, -1, f"and {more:,} more"))
    return DiskReplica(
        folder=str(folder),
        segments=len(segments),
        bytes=found.bytes,
        synced=found.bytes if common.stopped else found.synced,
        start=start,
        end=end,
        epochs=found.epochs,
        open=[
            (each.producer, each.first, found.latest - each.latest)
            for each in sorted(found.producers.open.values())
        ],
        forgotten=found.producers.forgotten(found.latest),
        findings=found.findings,
        common=found.common,
        sums=found.sums,
        ended=list(found.ended),
        transactions=found.transactions,
        layout=found.layout,
        quorum=quorum,
        election=found.election,
        noted_epochs=found.noted_epochs,
    )


def _read(found: _Judge, segments: dict[int, Path]) -> None:
    """Raises OSError."""
    found.topic_id()
    paths = list(segments.values())
    for at, (base, path) in enumerate(segments.items()):
        found.snapshots(base)
        if not found.segment(base, path, paths[at + 1 :]):
            break
    for misled in found.misled:
        found.misleading(*misled)
    _, end = _bounds(found, segments)
    found.snapshots(end)
    found.missing_snapshots(segments.keys(), end)
    found.epoch_file(end)
    found.checkpoints(end)
    found.names(segments.values())


def _bounds(found: _Judge, segments: Collection[int]) -> tuple[int, int]:
    """Of the log: its first offset, and the one after its last."""
    start = min(segments, default=0) if found.start is None else found.start
    return start, max(found.expected or 0, max((each.base for each in found.layout), default=0))


def _see(checks: Sequence[Offsets | Times | Room | None], part: Part) -> None:
    for each in checks:
        if each is not None:
            each.see(part)


def _room(path: Path, offsets: Index | None, times: Index | None) -> Room | None:
    """Only an index that is open is as long as it may get."""
    if offsets is None or times is None or len(offsets.entries) < 2:
        return None
    sizes = [path.with_suffix(end).stat().st_size for end in (".index", ".timeindex")]
    as_long = abs(sizes[0] - sizes[1]) < 12
    return Room(offsets) if as_long and (offsets.zeros or times.zeros) else None


def _open(each: Open) -> str:
    return f"the transaction of producer {each.producer} is open since offset {each.first}"
