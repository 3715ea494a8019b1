"""The scans over slots that decide about real time: docs/reference/log-checker.md, S1 to S5.

Everything works on a whole batch at once (see records.py for the order of times and slots). Which
operations bound each other in time is the caller's: the levels differ in nothing else.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import EARLIEST, FETCH, Ints, indices
from kraftcheck.traces.checkers.records import Records
from kraftcheck.traces.checkers.segments import BEFORE, ENDLESS


class Scan:
    """Bounds in time of records and reads.

    earliest: of each slot, a time that its record's append comes after (S1). low_bound: of each
    read, what it comes after by the records that it saw. Both ascend with slots.
    """

    def __init__(
        self, records: Records, floor: Ints, reads_end: bool, appends_end: bool = True
    ) -> None:
        self._records, self._reads_end, self._appends_end = records, reads_end, appends_end
        shifted = np.empty(len(floor) + 1, np.int64)
        shifted[0] = BEFORE
        self.earliest = shifted[1:]
        running_max(floor, self.earliest)
        # A read that saw nothing is bound by the segment before, which is over.
        self.low_bound: Ints = shifted.take(records.low)

    @cached_property
    def latest(self) -> Ints:
        """The mirror of `earliest`: of each slot, a time that its append comes before; ascends.

        Nobody asks for it unless an offset has no owner, or for levels.
        """
        records = self._records
        ceiling = records.end if self._appends_end else np.full(len(records.end), ENDLESS)
        if self._reads_end:
            ceiling = ceiling.copy()
            last = records.low.take(records.saw) - 1
            np.minimum.at(ceiling, last, records.r_end.take(records.saw))
        return np.minimum.accumulate(ceiling[::-1])[::-1]


def scan(records: Records, *, reads_begin: bool, reads_end: bool, appends_end: bool = True) -> Scan:
    """Compute the bounds of all slots: S1, and S1 from the other end.

    Args:
        records: the prepared records.
        reads_begin: whether a read that missed a record precedes it in real time.
        reads_end: whether a read that saw a record follows it in real time.
        appends_end: whether an append ends with its response.
    """
    floor = records.begin
    if reads_begin:
        some = indices(records.judged & (records.high < records.slots))
        if len(some):
            floor = floor.copy()
            np.maximum.at(floor, records.high.take(some), records.r_begin.take(some))
    return Scan(records, floor, reads_end, appends_end)


def running_max(values: Ints, into: Ints) -> None:
    """np.maximum.accumulate."""
    np.maximum.accumulate(values, out=into)


def late_slots(records: Records, found: Scan) -> Ints:
    """S2: slots whose append was over before something that it must come after had begun."""
    return indices(found.earliest[:-1] >= records.end[:-1])


def future_reads(records: Records, found: Scan) -> Ints:
    """S3: reads that were over before what they saw can have been there."""
    return indices(found.low_bound >= records.r_end)


def shrunk_starts(records: Records, found: Scan) -> tuple[Ints, Ints]:
    """Return reads below a log start that an earlier response had reported (S5).

    Retention moves the log's start forward only. A read below a start must have begun before that
    start was reported. The scan is S1 in the order of starts.

    Returns:
        Rows of reads and rows of the reporting responses, in pairs.
    """
    reads = records.batch.reads
    starts = indices(records.judged & (reads.kind == EARLIEST) & (reads.end >= 0))
    if not len(starts):
        return starts, starts
    full = reads.splits[1:] > reads.splits[:-1]
    fetches = indices(records.judged & (reads.kind == FETCH) & full)
    rows = np.concatenate((fetches, starts))
    at = np.concatenate((reads.offsets[reads.splits[fetches]], reads.end[starts]))
    segment = reads.segment[rows]
    after = np.maximum(records.r_begin[rows], found.low_bound[rows])
    order = np.lexsort((at, segment))
    running = np.maximum.accumulate(after[order])
    # How many rows of the segment stand below each start: ties do not count.
    distinct, rank = np.unique(at, return_inverse=True)
    key = segment * (len(distinct) + 1) + rank.reshape(-1)
    mine = key[len(fetches) :]
    below = np.searchsorted(key[order], mine, side="left")
    bound = np.where(below > 0, running[below - 1], BEFORE)
    late = indices(bound >= records.r_end[starts])
    source = np.array(
        [_first_at(after[order][: below[each]], bound[each]) for each in late], np.int64
    )
    return rows[order[source]], starts[late]


def _first_at(values: Ints, wanted: int) -> int:
    return int(indices(values == wanted)[0])


# -- Holes (S4)


class Holes(NamedTuple):
    """Slots without an owner that no spare append fills, one or more for each such segment."""

    slots: Ints
    segments: Ints


def unfilled(records: Records, found: Scan, lowest: Ints | None = None) -> Holes:
    """Return offsets without a record that no append can have filled in time (S4).

    The k-th hole takes the k-th spare append by invocation. Bounds ascend with offsets, so the
    sorted comparison decides the matching (Hall). At least once, any append may have left a copy in
    any hole.

    Args:
        records: the prepared records.
        found: their bounds.
        lowest: the first slot that each append may take, by the order of its own process.
    """
    none = np.zeros(0, np.int64)
    if records.gaps:
        return Holes(none, none)
    holes = indices(records.owner[:-1] == -1)
    segment = records.segment_of(holes)
    if len(holes) and records.overfull.any():
        holes, segment = holes[~records.overfull[segment]], segment[~records.overfull[segment]]
    if not len(holes):
        return Holes(none, none)
    if records.at_least_once:
        return _uncopied(records, found, holes, segment)
    appends = records.batch.appends
    spares = indices(records.spare)
    where = appends.segment[spares]
    # The first hole that a spare may take: its bound lies after the spare's invocation.
    possible = np.searchsorted(found.latest[holes], records.a_begin[spares], side="right")
    possible = np.maximum(possible, np.searchsorted(segment, where, side="left"))
    if lowest is not None:
        possible = np.maximum(possible, np.searchsorted(holes, lowest[spares], side="left"))
    useful = possible < np.searchsorted(segment, where, side="right")
    count = np.bincount(where[useful], minlength=records.batch.segments)
    return _ranked(holes, segment, np.sort(possible[useful]), count)


def _ranked(holes: Ints, segment: Ints, possible: Ints, count: Ints) -> Holes:
    first_hole = np.searchsorted(segment, segment, side="left")
    rank = np.arange(len(holes)) - first_hole
    begin = np.concatenate(([0], np.cumsum(count)))[segment]
    enough = rank < count[segment]
    bad = ~enough
    have = indices(enough)
    bad[have] = possible[begin[have] + rank[have]] > have
    return Holes(holes[bad], segment[bad])


def _uncopied(records: Records, found: Scan, holes: Ints, segment: Ints) -> Holes:
    appends = records.batch.appends
    first = np.full(records.batch.segments, ENDLESS)
    live = indices(appends.outcome != 1)
    np.minimum.at(first, appends.segment[live], records.a_begin[live])
    bad = found.latest[holes] <= first[segment]
    return Holes(holes[bad], segment[bad])
