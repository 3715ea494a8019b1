"""The indexes of a segment against its batches, which are told a few thousand at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kraftcheck.traces.disks.batches import Batch
from kraftcheck.traces.disks.files import Index, Table


class Part(NamedTuple):
    """Batches that follow each other: of each its first and last offset, its place, its time."""

    bases: Table
    lasts: Table
    positions: Table
    times: Table


class Rows:
    """Batches, until they are made a part."""

    def __init__(self) -> None:
        self._rows = array("q")

    def __len__(self) -> int:
        return len(self._rows) // 4

    def add(self, each: Batch) -> None:
        self._rows.extend((each.base, each.last, each.position, each.max_timestamp))

    def part(self) -> Part:
        """Those so far, which are forgotten."""
        rows = np.asarray(self._rows, dtype=np.int64).reshape(-1, 4)
        self._rows = array("q")
        return Part(*rows.T)


class Offsets:
    """Judges the entries of an offset index.

    A lookup goes to the last entry at or below the offset and reads on from there. So an entry must
    be the place of a batch that begins at or below its offset. (Kafka 4 notes the last offset of
    that batch, Kafka 3 that of all that was appended with it.)
    """

    def __init__(self, index: Index) -> None:
        self._entries = index.entries
        self._fit = np.zeros(len(index.entries), dtype=bool)

    def see(self, part: Part) -> None:
        offsets, places = self._entries.T
        here = np.flatnonzero((places >= part.positions[0]) & (places <= part.positions[-1]))
        at = np.searchsorted(part.positions, places[here])
        fits = part.positions[at] == places[here]
        self._fit[here] = fits & (part.bases[at] <= offsets[here])

    def wrong(self, most: int, below: int) -> Iterator[tuple[int, int, int]]:
        """Entries that lead nowhere: row, offset, place. below: a place; none above is judged."""
        for row in np.flatnonzero(~self._fit & (self._entries[:, 1] < below))[:most].tolist():
            yield row, *self._entries[row].tolist()


class Times:
    """An entry bounds all before it, and is the time of one of them.

    latest: of all batches so far.
    """

    def __init__(self, index: Index) -> None:
        self._entries = index.entries
        self._bound = np.full(len(index.entries), -1, dtype=np.int64)
        self._reached = np.full(len(index.entries), -1, dtype=np.int64)
        self._there = np.zeros(len(index.entries), dtype=bool)
        self.latest = -1

    def see(self, part: Part) -> None:
        latest = np.maximum(np.maximum.accumulate(part.times), self.latest)
        for bound, ends in ((self._bound, part.lasts), (self._reached, part.bases)):
            rows = np.flatnonzero(self._entries[:, 1] >= ends[0])
            before = np.searchsorted(ends, self._entries[rows, 1], side="right") - 1
            bound[rows] = latest[np.maximum(before, 0)]
        times, offsets = self._entries.T
        here = np.flatnonzero((offsets >= part.bases[0]) & (offsets <= part.lasts[-1]))
        at = np.searchsorted(part.bases, offsets[here], side="right") - 1
        has = (offsets[here] <= part.lasts[at]) & (part.times[at] == times[here])
        self._there[here] = has
        self.latest = int(latest[-1])

    def wrong(self, most: int) -> Iterator[tuple[int, int, int, int]]:
        """Entries that do not: row, time, offset, the time that is there."""
        for row in np.flatnonzero(self._entries[:, 0] < self._bound)[:most].tolist():
            yield row, *self._entries[row].tolist(), int(self._bound[row])

    def beyond(self, most: int, below: int) -> Iterator[tuple[int, int, int, int]]:
        """Entries later than every batch that begins up to their offset, likewise.

        below: an offset; none above is judged.
        """
        later = (self._entries[:, 0] > self._reached) & (self._entries[:, 1] < below)
        for row in np.flatnonzero(later)[:most].tolist():
            yield row, *self._entries[row].tolist(), int(self._reached[row])

    def elsewhere(self, most: int, below: int) -> Iterator[tuple[int, int, int]]:
        """Entries whose offset is of no batch of that time: row, time, offset. below: as above."""
        apart = ~self._there & (self._entries[:, 1] < below)
        for row in np.flatnonzero(apart)[:most].tolist():
            yield row, *self._entries[row].tolist()


class Room:
    """Says whether a recovery has room for all entries of an index.

    Recovery counts the bytes between entries through, where appends began anew with each start and
    truncation. So it may need more entries, and Kafka fails where the index is full
    (LogSegment.recover). needed: how many it needs at least: the interval is below the least
    distance of two entries, unless index.interval.bytes has been raised since. room: for how many
    there is room.
    """

    def __init__(self, index: Index) -> None:
        self._least = int(np.diff(index.entries[:, 1]).min())
        self.room = len(index.entries) + index.zeros
        self.needed = self._last = 0

    def see(self, part: Part) -> None:
        for position in part.positions.tolist():
            if position - self._last >= self._least:
                self.needed, self._last = self.needed + 1, position
