"""Appends that returned without their offset, and whose record nobody read: where may each stand?

docs/reference/log-checker.md, S6. Such an append took effect, so that its record stands at an
offset that no other is known to have, below the last known one or beyond. Each such offset has two
bounds in time (what stands or was missed below it began before the append returned; what stands or
was seen above it was not over when the append began), and both ascend with offsets. So each append
may take a run of offsets, and it is decided by the earliest deadline first whether all find one.

Offsets are cut into *pieces* between which nothing changes; a piece may be as long as it likes.
Only segments that have such appends pay.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    DID,
    EARLIEST,
    FAILED,
    FETCH,
    LATEST,
    Flags,
    Ints,
    indices,
)
from kraftcheck.traces.checkers.owners import TAKEN
from kraftcheck.traces.checkers.records import Records, values_of
from kraftcheck.traces.checkers.segments import BEFORE, ENDLESS
from kraftcheck.traces.checkers.sessions import in_order, known_before

_FAR: Final = np.iinfo(np.int64).max


class Laws(NamedTuple):
    """What bounds an append without a known place."""

    time: bool = False
    """The other appends, in real time."""
    seen: bool = False
    """Reads that were over before it began."""
    missed: bool = False
    """Reads that began after it had returned."""
    own: bool = False
    """What its process did before and after it."""


LINEARIZABLE: Final = Laws(time=True, seen=True, missed=True)


def unplaced(
    records: Records, laws: Laws, among: Ints | None = None, surely: bool = False
) -> tuple[Ints, Ints]:
    """Return appends without a possible place, one for each segment that has any.

    For a topic that is not compacted, without copies, the result is exact.

    Args:
        records: the prepared records.
        laws: the laws that exclude places.
        among: segments to consider; by default all.
        surely: matters for compacted topics and copies. If True, an append may be among the offsets
            that fetches passed only if the known records after it can have replaced it, and not
            before the end of a fetch that found nothing; and seen records count as copies only if
            they must. So an append with a place may be returned. If False, an append may be there
            with any key, and an append without a place may be omitted.

    Returns:
        Rows of appends, and their segments.
    """
    appends = records.batch.appends
    spare = indices(records.spare)
    must = spare[(appends.outcome[spare] == DID) & (records.a_end[spare] < ENDLESS)]
    values = values_of(records) if surely and records.batch.compacted else None
    lost: list[int] = []
    segments: list[int] = []
    where = np.unique(appends.segment[must])
    for segment in (where if among is None else np.intersect1d(where, among)).tolist():
        if records.ambiguous[segment] or records.overfull[segment]:
            continue
        mine = slice(*np.searchsorted(appends.segment[must], (segment, segment + 1)))
        victim = _Log(records, segment, surely).victim(must[mine], laws, values)
        if victim is not None:
            lost.append(victim)
            segments.append(segment)
    return np.array(lost, np.int64), np.array(segments, np.int64)


def culprit(records: Records, segment: int, append: int, own: bool) -> int | None:
    """Return the read that leaves the least room to an append; None if there is no such read.

    Of the reads that began after the append had returned, it is the one that found the shortest
    log.

    Args:
        records: the prepared records.
        segment: of the append.
        append: its row.
        own: whether to consider only reads of the append's process.
    """
    log = _Log(records, segment)
    later = (records.r_begin[log.rows] > records.a_end[append]) & (log.absent < _FAR)
    if own:
        appends, reads = records.batch.appends, records.batch.reads
        later &= reads.process[log.rows] == appends.process[append]
    found = indices(later)
    return int(log.rows[found[np.argmin(log.absent[found])]]) if len(found) else None


class _Log:
    """One segment.

    known: its slots with a known record. rows: its reads that were answered. absent: of each, the
    first offset that it proves empty (_FAR: none); present: the last that it proves taken, and one.
    """

    def __init__(self, records: Records, segment: int, surely: bool = False) -> None:
        self.records, self.segment = records, segment
        self.surely, self.sparing = surely, records.batch.compacted and not surely
        begin, end = int(records.base[segment]), int(records.base[segment + 1])
        owner = records.owner[begin:end]
        self.known = begin + indices((owner != -1) & (owner != TAKEN))
        reads = records.batch.reads
        since, until = np.searchsorted(reads.segment, (segment, segment + 1))
        self.rows = since + indices(records.judged[since:until])
        self.start, self.end = reads.start[self.rows], reads.end[self.rows]
        self.first, self.last = reads.splits[self.rows], reads.splits[self.rows + 1]
        self.empty: Flags = self.first == self.last
        self.kind = reads.kind[self.rows]
        self.absent, self.present = self._bounds()

    def _bounds(self) -> tuple[Ints, Ints]:
        absent = np.full(len(self.rows), _FAR)
        nothing = (self.kind == FETCH) & self.empty & (self.start >= 0)
        if self.sparing:
            # The first may be gone, unless the log is known to end before it.
            high = self.records.high[self.rows]
            nothing &= high < self.records.base[self.segment + 1]
            absent[nothing] = self.records.offset[high[nothing]]
        else:
            absent[nothing] = self.start[nothing]
        told = (self.kind != EARLIEST) & (self.end >= 0)
        absent[told] = np.minimum(absent[told], self.end[told])
        present = np.maximum(self.end, 0)
        some = indices(~self.empty)
        last = self.records.batch.reads.offsets[self.last[some] - 1]
        present[some] = np.maximum(present[some], last + 1)
        return absent, present

    def victim(self, must: Ints, laws: Laws, values: Ints | None) -> int | None:
        """One of these appends that has no place beside the others; None: all have.

        values: of each slot, if an append may be gone only where it was surely replaced.
        """
        pieces = _Pieces(self)
        low, high = pieces.room(must, laws)
        seen = pieces.standing(must, low, high)
        if self.surely and laws.time and (seen >= 0).any():
            low, high = np.where(seen >= 0, seen, low), np.where(seen >= 0, seen + 1, high)
            begin, end = self.records.a_begin[must], self.records.a_end[must]
            low, high = _in_time(begin, end, low, high)
            if (late := indices((seen >= 0) & (low > seen))).size:
                return int(must[late[0]])
        # The earliest deadline first, in the order of offsets.
        order = np.argsort(low, kind="stable")
        order = order[seen[order] < 0]
        waiting: list[tuple[int, int]] = []
        at = 0
        for piece, places in pieces.free():
            while at < len(order) and low[order[at]] <= piece:
                heapq.heappush(waiting, (int(high[order[at]]), int(must[order[at]])))
                at += 1
            if values is not None and pieces.passed[piece]:
                fit = [w for w in sorted(waiting) if pieces.replaced(piece, w[1], values)]
                waiting = sorted(set(waiting) - set(fit[:places]))
            else:
                fit = [heapq.heappop(waiting) for _ in range(min(places, len(waiting)))]
            for deadline, append in fit[:places]:
                if deadline <= piece:
                    return append
            if at == len(order) and not waiting:
                break
        return None


class _Pieces:
    """The offsets of a segment, cut wherever anything is known to begin or to end.

    cuts: the first offset of each piece; the last piece has no end. passed: whether some fetch went
    through; then what was not found there is not there, or is gone.
    """

    def __init__(self, log: _Log) -> None:
        self.log, self.records = log, log.records
        self.offsets = self.records.offset[log.known]
        through = (log.kind == FETCH) & (~log.empty | ((log.start >= 0) & (log.end > log.start)))
        self.through = indices(through)
        self.since, self.until = self._passages()
        self.cuts = np.unique(
            np.concatenate(
                (
                    np.zeros(1, np.int64),
                    *(self.offsets, self.offsets + 1, self.since, self.until),
                    *(log.absent[log.absent < _FAR], log.present),
                )
            )
        )
        passes = np.zeros(len(self.cuts) + 1, np.int64)
        np.add.at(passes, self.at(self.since), 1)
        np.add.at(passes, self.at(self.until), -1)
        self.passed: Flags = np.cumsum(passes[:-1]) > 0
        self.earliest = np.full(len(self.cuts), BEFORE)
        self.latest = np.full(len(self.cuts), ENDLESS)

    def _passages(self) -> tuple[Ints, Ints]:
        """The offsets that fetches went through: what is there and free was free for good."""
        log, reads = self.log, self.records.batch.reads
        some = self.through
        full = some[~log.empty[some]]
        since = log.start[some]
        until = log.end[some]
        first = reads.offsets[log.first[full]]
        asked = log.start[full]
        since[~log.empty[some]] = np.where(asked >= 0, np.minimum(asked, first), first)
        until[~log.empty[some]] = reads.offsets[log.last[full] - 1] + 1
        return since, until

    def at(self, offsets: Ints) -> Ints:
        """The piece that an offset lies in; of a cut, the one that begins there."""
        return np.searchsorted(self.cuts, offsets, side="right") - 1

    def free(self) -> Iterator[tuple[int, int]]:
        """The pieces in which an append may stand that nobody saw, and how many may."""
        places = np.append(np.diff(self.cuts), _FAR)
        places[self.at(self.offsets)] = 0
        if not self.records.batch.compacted:
            places[self.passed] = 0
        some = indices(places > 0)
        return zip(some.tolist(), places[some].tolist(), strict=True)

    def replaced(self, piece: int, append: int, values: Ints) -> bool:
        """Say whether fetches went through a piece only after its record was replaced.

        All of them were over only after a record behind it was there that has the key of this
        append.
        """
        records, keys, log = self.records, self.records.batch.keys, self.log
        later = self.offsets > self.cuts[piece]
        if keys is None:
            behind = self.offsets[later]
        else:
            same = keys.key[values[log.known]] == keys.key[records.batch.appends.value[append]]
            behind = self.offsets[same & later]
        here = (self.at(self.since) <= piece) & (piece < self.at(self.until))
        found_nothing = (log.kind == FETCH) & log.empty & (log.start >= 0)
        found_nothing &= log.start <= self.cuts[piece]
        found_nothing &= self.latest[piece] <= records.r_begin[log.rows]
        rows = np.concatenate((self.through[here], indices(found_nothing)))
        if keys is not None and keys.tombstone[records.batch.appends.value[append]]:
            return True
        if not len(behind):
            return False
        there = self.earliest[self.at(behind[:1])[0]] < records.r_end[log.rows[rows]]
        return bool((there & (behind[0] < log.absent[rows])).all())

    def standing(self, must: Ints, low: Ints, high: Ints) -> Ints:
        """Give the piece in which each append stands.

        Its record was seen there and may be no copy of it; -1: nowhere.
        """
        found = np.full(len(must), -1)
        if not self.records.at_least_once:
            return found
        owner, pieces = self.records.owner[self.log.known], self.at(self.offsets)
        row = np.minimum(np.searchsorted(must, owner), len(must) - 1)
        fits = (must[row] == owner) & (low[row] <= pieces) & (pieces < high[row])
        # The first of them.
        found[row[fits][::-1]] = pieces[fits][::-1]
        return found

    def room(self, must: Ints, laws: Laws) -> tuple[Ints, Ints]:
        """Of each append the first piece that it may stand in, and the first after those."""
        records, log, count = self.records, self.log, len(self.cuts)
        earliest, latest = np.full(count, BEFORE), np.full(count, ENDLESS)
        if laws.time:
            np.maximum.at(earliest, self.at(self.offsets), records.begin[log.known])
            np.minimum.at(latest, self.at(self.offsets), records.end[log.known])
        if laws.missed:
            some = indices(log.absent < _FAR)
            np.maximum.at(earliest, self.at(log.absent[some]), records.r_begin[log.rows[some]])
        if laws.seen:
            some = indices(log.present > 0)
            np.minimum.at(latest, self.at(log.present[some] - 1), records.r_end[log.rows[some]])
        earliest = self.earliest = np.maximum.accumulate(earliest)
        latest = self.latest = np.minimum.accumulate(latest[::-1])[::-1]
        if not log.sparing:
            # What was taken before a fetch found nothing there holds no record, or none any more.
            self.passed |= latest <= earliest
        begin, end = records.a_begin[must], records.a_end[must]
        timed = laws.time or laws.missed or laws.seen
        low = np.searchsorted(latest, begin, side="right") if timed else np.zeros(len(must), int)
        high = np.searchsorted(earliest, end, side="left") if timed else np.full(len(must), count)
        if laws.own:
            before, after = self._own(must)
            low, high = np.maximum(low, before), np.minimum(high, after)
            if laws.time:
                low, high = _in_time(begin, end, low, high)
        return low, high

    def _own(self, must: Ints) -> tuple[Ints, Ints]:
        """Bound the piece in which each append stands by what its process knew.

        The first number is the piece from which on it stands, by what the process knew before; the
        second the first piece that the process knew to be empty after it, or to be later.
        """
        records, log = self.records, self.log
        appends, reads = records.batch.appends, records.batch.reads
        since, until = np.searchsorted(appends.segment, (log.segment, log.segment + 1))
        rows = since + indices(appends.outcome[since:until] != FAILED)
        placed = records.append_slot[rows]
        offset = np.where(placed >= 0, records.offset[placed], -1)
        knows = np.where(log.kind == LATEST, log.present, 0)
        some = indices(~log.empty)
        knows[some] = reads.offsets[log.last[some] - 1] + 1
        count = len(self.cuts)
        # What an operation knows, and what it leaves to those before it; both as pieces.
        gains = np.concatenate((self.at(offset + 1), self.at(knows)))
        absent = np.where(log.absent < _FAR, self.at(np.minimum(log.absent, _FAR - 1)), count)
        leaves = np.concatenate((np.where(placed >= 0, self.at(offset), count), absent))
        process = np.concatenate((appends.process[rows], reads.process[log.rows]))
        operation = np.concatenate((appends.operation[rows], reads.operation[log.rows]))
        group = np.concatenate((appends.group[rows], reads.group[log.rows]))
        alone = np.zeros(len(process), np.int64)
        order = in_order(alone, process, self._invoked(rows), operation)
        before, _ = known_before(order, alone, process, group, gains)
        # The same from behind, upside down.
        after, _ = known_before(order[::-1], alone, process, group, count - leaves)
        where = np.searchsorted(rows, must)
        low, high = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        low[order], high[order[::-1]] = np.maximum(before, 0), count - np.maximum(after, 0)
        return low[where], high[where]

    def _invoked(self, rows: Ints) -> Ints:
        """When these appends, and then all reads, were invoked."""
        batch = self.records.batch
        return np.concatenate((batch.appends.invoked[rows], batch.reads.invoked[self.log.rows]))


def _in_time(begin: Ints, end: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """An append that began after another had returned stands behind it, wherever that stands."""
    by_end, by_begin = np.argsort(end, kind="stable"), np.argsort(begin, kind="stable")
    most = np.concatenate(([0], np.maximum.accumulate(low[by_end])))
    low = np.maximum(low, most[np.searchsorted(end[by_end], begin, side="right")])
    least = np.minimum.accumulate(high[by_begin][::-1])[::-1]
    least = np.append(least, _FAR)
    high = np.minimum(high, least[np.searchsorted(begin[by_begin], end, side="left")])
    return low, high
