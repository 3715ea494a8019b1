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

from array import array
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from traces.disks import files
from traces.disks.batches import Bad, Batch, batches
from traces.disks.files import Aborted, Index, Malformed, Newer, Table
from traces.disks.found import Common, Finding, Found, Segment, Weight
from traces.disks.producers import Open, Producers
from traces.disks.voters import quorum_of, torn_snapshots

HANGING_MS: Final = 15 * 60 * 1000
"""transaction.max.timeout.ms, as it is without a setting."""
TOLD: Final = 5
"""Of each kind so many are told of one file."""


class _Judge:
    def __init__(self, folder: Path, common: Common) -> None:
        self.folder, self.common = folder, common
        self.findings: list[Finding] = []
        self.producers = Producers()
        self.kept, self.ended = array("q"), array("q")
        self.layout: list[Segment] = []
        self.epochs: list[tuple[int, int]] = []
        self.expected: int | None = None
        self.latest = -1
        self.bytes = 0
        self.whole_from_0 = False

    def note(
        self, weight: Weight, invariant: str, path: Path | None, said: str, position: int = -1
    ) -> None:
        name = "" if path is None else path.name
        self.findings.append(Finding(weight, invariant, name, position, said))

    def malformed(self, error: Malformed, invariant: str, path: Path) -> None:
        if isinstance(error, Newer):
            self.note("unknown", "FilesWhole", path, str(error), error.position)
        else:
            self.note("violated", invariant, path, str(error), error.position)

    def segment(self, base: int, path: Path, *, is_last: bool) -> None:
        bases, ends, positions, times = array("q"), array("q"), array("q"), array("q")
        aborted: list[Aborted] = []
        for each in batches(path):
            if isinstance(each, Bad):
                self._bad(path, each, is_last=is_last)
                break
            self._offsets(path, base, each)
            bases.append(each.base)
            ends.append(each.last)
            positions.append(each.position)
            times.append(each.max_timestamp)
            self.kept.extend((each.base, each.last, each.epoch, each.crc))
            self._epoch(path, each)
            opened = self.producers.open.get(each.producer) if each.marker else None
            if (entry := self.producers.append(each)) is not None:
                aborted.append(entry)
            if opened is not None and opened.producer not in self.producers.open:
                self.ended.extend((each.producer, opened.first, each.last, entry is not None))
            self.latest = max(self.latest, each.max_timestamp)
        size = path.stat().st_size
        self.bytes += size
        self.layout.append(Segment(base, ends[-1] + 1 if ends else base, size))
        lasts = np.array(ends, dtype=np.int64)
        starts = np.array(bases, dtype=np.int64)
        self._offset_index(path.with_suffix(".index"), base, starts, np.array(positions))
        closed = not is_last or self.common.stopped
        self._time_index(path.with_suffix(".timeindex"), base, lasts, np.array(times), closed)
        if not closed:
            self._room(path.with_suffix(".index"), base, np.array(positions, dtype=np.int64))
        self._transaction_index(path.with_suffix(".txnindex"), aborted)

    def _bad(self, path: Path, bad: Bad, *, is_last: bool) -> None:
        """What is not flushed may be torn, and a start of the broker cuts it."""
        rest = f"{bad.size - bad.position:,} bytes from there"
        if bad.foreign:
            said = f"{bad.why}; {rest} are not judged"
            self.note("unknown", "FilesWhole", path, said, bad.position)
            return
        known = self.expected if self.expected is not None else 0
        torn = is_last and known >= (self.common.recovery_point or 0) and not self.common.stopped
        marks = [
            f"the {name} {mark:,}"
            for name, mark in self.common.marks.items()
            if mark is not None and known < mark
        ]
        below = f", below {', '.join(marks)}" if marks else ""
        said = f"{bad.why}; {rest} are lost{below}"
        self.note("report" if torn else "violated", "BatchesWhole", path, said, bad.position)

    def _offsets(self, path: Path, base: int, batch: Batch) -> None:
        at = batch.position
        if self.expected is None:
            self.whole_from_0 = batch.base == 0
        elif batch.base < self.expected:
            said = f"offset {batch.base} comes after {self.expected - 1}"
            self.note("violated", "OffsetsAscend", path, said, at)
        elif batch.base > self.expected and not self.common.compacted:
            said = f"the offsets {self.expected} to {batch.base - 1} are missing"
            # A log that was cut within a batch goes on behind it, in a new epoch.
            cut = bool(self.epochs) and batch.epoch > self.epochs[-1][0]
            self.note("report" if cut else "violated", "NoHole", path, said, at)
        if batch.base < base:
            said = f"offset {batch.base} is below the segment's first, {base}"
            self.note("violated", "OffsetsAscend", path, said, at)
        self.expected = batch.last + 1

    def _epoch(self, path: Path, batch: Batch) -> None:
        if not self.epochs or batch.epoch > self.epochs[-1][0]:
            self.epochs.append((batch.epoch, batch.base))
        elif batch.epoch < self.epochs[-1][0]:
            said = f"epoch {batch.epoch} at offset {batch.base} comes after {self.epochs[-1][0]}"
            self.note("violated", "EpochsAscend", path, said, batch.position)

    # -- Indexes

    def _offset_index(self, path: Path, base: int, starts: Table, positions: Table) -> None:
        """Who looks for an offset goes to the last entry at or below it, and reads on from there:
        so it is to be the place of a batch that begins at or below the entry's offset. (Kafka 4
        notes the last offset of that batch, Kafka 3 that of all that was appended with it.)
        """
        index = self._index(path, base, files.offset_index)
        if index is None or not index.entries.size or not len(starts):
            return
        offsets, places = index.entries.T
        at = np.minimum(np.searchsorted(positions, places), len(positions) - 1)
        fits = (positions[at] == places) & (starts[at] <= offsets)
        for row in np.flatnonzero(~fits)[:TOLD].tolist():
            said = f"offset {offsets[row]} leads to {places[row]}, where no batch of it begins"
            self.note("violated", "IndexLowerBound", path, said, row * 8)

    def _time_index(self, path: Path, base: int, ends: Table, times: Table, closed: bool) -> None:
        index = self._index(path, base, files.time_index)
        if index is None or not len(ends):
            return
        entries = index.entries
        latest = np.maximum.accumulate(times)
        if entries.size:
            before = np.searchsorted(ends, entries[:, 1], side="right") - 1
            bound = np.where(before >= 0, latest[np.maximum(before, 0)], -1)
            for row in np.flatnonzero(entries[:, 0] < bound)[:TOLD].tolist():
                time, offset = entries[row].tolist()
                said = f"{time} is not the latest up to offset {offset}: {bound[row]} is there"
                self.note("violated", "IndexLowerBound", path, said, row * 12)
            for row in np.flatnonzero((np.diff(entries, axis=0) < 0).any(axis=1))[:1].tolist():
                said = "its entries do not ascend"
                self.note("violated", "IndexLowerBound", path, said, (row + 1) * 12)
        if not closed:
            return
        if index.zeros and latest[-1] > 0:
            said = "it ends with zeros: retention takes the segment for one of 1970 and deletes it"
            self.note("violated", "IndexLowerBound", path, said)
        elif entries.size and entries[-1, 0] < latest[-1]:
            said = f"it ends with {entries[-1, 0]}, the segment with {latest[-1]}: deleted early"
            self.note("violated", "IndexLowerBound", path, said)

    def _room(self, path: Path, base: int, positions: Table) -> None:
        """Recovery counts the bytes between entries through, where appends began anew with each
        start and truncation: it may need more entries, and Kafka fails where the index is full
        (LogSegment.recover). How many are needed at least: the interval is below the least distance
        of two entries, unless index.interval.bytes has been raised since.
        """
        if len(positions) < 2:
            return
        beside = path.with_suffix(".timeindex")
        try:
            index, times = files.offset_index(path, base), files.time_index(beside, base)
        except (Malformed, FileNotFoundError):
            return
        # Only an index that is open is as long as it may get.
        as_long = abs(path.stat().st_size - beside.stat().st_size) < 12
        if len(index.entries) < 2 or not as_long or not (index.zeros or times.zeros):
            return
        least = int(np.diff(index.entries[:, 1]).min())
        needed, last = 0, 0
        for position in positions.tolist():
            if position - last >= least:
                needed, last = needed + 1, position
        room = len(index.entries) + index.zeros
        if needed > room:
            said = f"recovery needs {needed} entries, and has room for {room}: no start ends"
            self.note("violated", "StartUpTotal", path, said)

    def _index(self, path: Path, base: int, read: Callable[[Path, int], Index]) -> Index | None:
        """None: there is none, or it is malformed."""
        if not path.exists():
            if self.common.stopped:
                self.note("report", "IndexLowerBound", path, "is missing")
            return None
        try:
            return read(path, base)
        except Malformed as error:
            self.malformed(error, "IndexLowerBound", path)
            return None

    def _transaction_index(self, path: Path, expected: Sequence[Aborted]) -> None:
        try:
            entries = files.transaction_index(path) if path.exists() else []
        except Malformed as error:
            self.malformed(error, "TxnIndexExact", path)
            return
        if not self.whole_from_0:
            # What was open where the log begins now is not known.
            known = {(each.producer, each.last) for each in expected}
            entries = [each for each in entries if (each.producer, each.last) in known]
        if self.common.compacted:
            # Of a transaction without data left there is no entry, or one of before.
            ends = {each.last for each in entries}
            expected = [each for each in expected if each.last in ends]
        by_end = {each.last: each for each in entries}
        for each in expected:
            there = by_end.pop(each.last, None)
            if there is None:
                said = f"{_told(each)} is not in it: committed readers are shown what was aborted"
                self.note("violated", "TxnIndexExact", path, said)
            elif there.stable < each.stable and there._replace(stable=each.stable) == each:
                said = f"{_told(each)} has the last stable offset {there.stable}, by the log "
                said += f"{each.stable}: readers look further than they need"
                self.note("report", "TxnIndexExact", path, said)
            elif there != each:
                self.note("violated", "TxnIndexExact", path, _differs(there, each))
        for stranger in list(by_end.values()) if not self.common.compacted else []:
            said = f"{_told(stranger)} is in it, and not in the log"
            self.note("violated", "TxnIndexExact", path, said)

    # -- Beside the segments

    def topic_id(self) -> None:
        try:
            told = files.topic_id(self.folder)
        except Malformed as error:
            self.malformed(error, "FilesWhole", self.folder / files.TOPIC)
            return
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
        if self.common.compacted:
            return
        for said in [*self.producers.differing(told)][:TOLD]:
            self.note("violated", "ProducerStateReplays", path, said)

    def epoch_file(self) -> None:
        path = self.folder / files.EPOCHS
        try:
            told = files.epochs(path)
        except FileNotFoundError:
            self.note("report", "EpochCacheSound", path, "is missing")
            return
        except Malformed as error:
            self.malformed(error, "EpochCacheSound", path)
            return
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

    def checkpoints(self, end: int) -> None:
        for name, mark in self.common.marks.items():
            if mark is not None and mark > end and name != "cleaned":
                said = f"the {name} is {mark}, the log ends at {end}"
                self.note("report", "HwWithinLog", None, said)

    def names(self, segments: Collection[Path]) -> None:
        for path in sorted(self.folder.iterdir()):
            if files.LEFT_OVER.fullmatch(path.name):
                self.note("report", "LeftOver", path, "is left of a cleaning or a deletion")
            elif path.suffix == ".log" and path not in segments:
                said = "is not an offset of 20 digits: not judged"
                self.note("report", "NamesParse", path, said)


def _told(each: Aborted) -> str:
    return f"the aborted transaction of producer {each.producer} from {each.first} to {each.last}"


def _differs(there: Aborted, expected: Aborted) -> str:
    if there.first != expected.first:
        return f"{_told(expected)} begins at {there.first} in it"
    return (
        f"{_told(expected)} has the last stable offset {there.stable}, by the log "
        f"{expected.stable}: a committed reader whose fetch ends in between looks no further, and "
        "may be shown what was aborted"
    )


def judge(folder: Path, common: Common) -> Found:
    """What cannot be read is `unknown`, and with it what comes behind."""
    found = _Judge(folder, common)
    segments: dict[int, Path] = {}
    quorum = None
    try:
        segments = files.segments_of(folder)
        _read(found, segments)
        _, end = _bounds(found, segments)
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
    return Found(
        folder=str(folder),
        segments=len(segments),
        bytes=found.bytes,
        start=start,
        end=end,
        epochs=found.epochs,
        open=[
            (each.producer, each.first, found.latest - each.latest)
            for each in sorted(found.producers.open.values())
        ],
        findings=found.findings,
        common=found.common,
        batches=np.asarray(found.kept, dtype=np.int64).reshape(-1, 4),
        ended=np.asarray(found.ended, dtype=np.int64).reshape(-1, 4),
        layout=found.layout,
        quorum=quorum,
    )


def _read(found: _Judge, segments: dict[int, Path]) -> None:
    """Raises OSError."""
    found.topic_id()
    for base, path in segments.items():
        found.snapshots(base)
        found.segment(base, path, is_last=base == max(segments))
    _, end = _bounds(found, segments)
    found.snapshots(end)
    found.epoch_file()
    found.checkpoints(end)
    found.names(segments.values())


def _bounds(found: _Judge, segments: Collection[int]) -> tuple[int, int]:
    """Of the log: its first offset, and the one after its last."""
    start = found.kept[0] if found.kept else min(segments, default=0)
    return start, max(found.expected or 0, max(segments, default=0))


def _open(each: Open) -> str:
    return f"the transaction of producer {each.producer} is open since offset {each.first}"
