"""Decide exactly whether partition logs are linearizable, thousands of partitions at once.

Offsets order the appends, so no search is needed. The check is one running maximum in the order of
offsets, two comparisons and one sorted matching (docs/reference/log-checker.md). It is sound and
complete for known offsets and unique values. It takes O(n log n), and O(n) if offsets are dense.

    judge(batch)   one answer for each segment of a `LogBatch` (columns.py)

A verdict is `holds`, `violated`, or `unknown` with a reason. For example, the writer of a value is
unknown if several appends of unknown outcome had that value. At most two operations certify a
violation. Its name is that of Jepsen's anomaly if there is one, otherwise:

    append-order    an append was invoked after an append with a larger offset was acknowledged
    stale-read      a read missed a record that was acknowledged, or seen, before it began
    future-read     a read returned before the records that it saw can have existed
    hole            no append can have filled an offset before a read saw a later one
    unplaced-append an append returned, but no offset can have its record
    start-regress   a read found a lower log start than an earlier response
    offset-acked-twice, poll-before-position    as named
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.traces.checkers import scans
from kraftcheck.traces.checkers.columns import Flags, Ints, LogBatch, indices
from kraftcheck.traces.checkers.records import Records, records_of
from kraftcheck.traces.checkers.scans import Scan
from kraftcheck.traces.checkers.sessions import Sessions, sessions
from kraftcheck.traces.checkers.unplaced import LINEARIZABLE, Laws, unplaced
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import PARTITION_LOG, History
from kraftcheck.traces.rows import Rows, rows_of

MODEL: Final = PARTITION_LOG

HELD: Final = 0
BROKEN: Final = 1
UNDECIDED: Final = 2
UNPLACED: Final = {
    "unplaced-append": Laws(time=True, seen=True),
    "unplaced-own": Laws(time=True, seen=True, own=True),
    "unplaced-missed": LINEARIZABLE,
}
"""The laws that leave an append without a place: the order of the other appends; what its own
process has seen; the reads that missed it. In the last case it has a place if reads may be stale.
"""
OF_VALUES: Final = frozenset(("G1a", "phantom", "duplicate"))
"""Contradictions of values that do not concern order."""
_WORDS: Final = (HOLDS, VIOLATED, UNKNOWN)


class BrokenCondition(NamedTuple):
    """Violations of one condition: rows or slots of the victims, and their segments."""

    kind: str
    victims: Ints
    segments: Ints


class Judgement:
    """The result for a batch.

    verdicts: HELD, BROKEN or UNDECIDED for each segment (int8).
    disordered: segments with a violation other than a value that should not have been read.
    guessed: segments in which an unknown writer or replacement may change the verdict.
    records, scan: the prepared records and their bounds, which the anomalies use too.
    weaker: the records for weaker levels, in which real time bounds no read.
    closely: the same judgement without unseen copies; what is violated only there is undecided.
    """

    def __init__(self, records: Records, closely: Judgement | None = None) -> None:
        self.records = records
        self.batch = records.batch
        self.weaker = records._replace(high=records.high.copy())
        self.scan: Scan = scans.scan(records, reads_begin=True, reads_end=True)
        while self._ended():
            self.scan = scans.scan(records, reads_begin=True, reads_end=True)
        found = [each for each in self._conditions() if len(each.victims)]
        self.disordered = records.overfull.copy()
        for segment in (
            *(each.segments for each in found),
            *(each.segment for each in records.clashes if each.kind not in OF_VALUES),
        ):
            self.disordered[segment] = True
        found += [each for each in self._unplaced() if len(each.victims)]
        self.found = tuple(found)
        for each in found:
            self.disordered[each.segments] = True
        broken = self.disordered.copy()
        for clash in records.clashes:
            if not (clash.kind == "duplicate" and records.at_least_once):
                broken[clash.segment] = True
        self.guessed: Flags = records.ambiguous | self._replaced_perhaps()
        self.guessed |= broken & self._tightened()
        if closely is not None:
            self.guessed |= closely.guessed | (closely.verdicts == BROKEN)
        unsure = self.guessed | (self.batch.operations == 0)
        verdicts = np.where(broken, BROKEN, np.where(unsure, UNDECIDED, HELD))
        self.verdicts: NDArray[np.int8] = verdicts.astype(np.int8)

    def _ended(self) -> bool:
        """Tighten the bounds of reads that show that the log ended before a replaced first record.

        Such a read found nothing, and returned before the possible replacement existed. The result
        says whether any bound changed.
        """
        reads, first, after = self.records.ended
        late = self.scan.earliest[after] >= self.records.r_end[reads]
        late &= self.records.high[reads] > first
        self.records.high[reads[late]] = first[late]
        return bool(late.any())

    def _tightened(self) -> Flags:
        """Return the segments in which `_ended` tightened a bound, for reasons of real time."""
        found = np.zeros(self.batch.segments, bool)
        changed = self.records.high != self.weaker.high
        found[self.batch.reads.segment[changed]] = True
        return found

    @cached_property
    def sessions(self) -> Sessions:
        """What each process knew, to explain a rejected segment."""
        return sessions(self.weaker)

    @cached_property
    def alone(self) -> Scan:
        """The bounds that appends alone give, as if no read had missed anything."""
        return scans.scan(self.records, reads_begin=False, reads_end=True)

    def _conditions(self) -> Iterator[BrokenCondition]:
        """Yield the violations.

        A contradiction between appends is reported as such, even if a read missed records too.
        """
        records, scan, batch = self.records, self.scan, self.batch
        slots = scans.late_slots(records, scan)
        slots = slots[records.owner[slots] >= 0]
        if len(slots):
            late = self.alone.earliest[slots] >= records.end[slots]
            for kind, some in (("append-order", slots[late]), ("late-missed", slots[~late])):
                yield BrokenCondition(kind, some, records.segment_of(some))
        reads = scans.future_reads(records, scan)
        if len(reads):
            early = self.alone.low_bound[reads] >= records.r_end[reads]
            for kind, some in (("future-read", reads[early]), ("future-missed", reads[~early])):
                yield BrokenCondition(kind, some, batch.reads.segment[some])
        before, told = scans.shrunk_starts(records, scan)
        if len(told):
            surely = scans.shrunk_starts(records, self.alone)
            missed = ~np.isin(told, surely[1])
            self.starts = {
                "start-regress": surely,
                "start-missed": (before[missed], told[missed]),
            }
            for kind, (_, rows) in self.starts.items():
                yield BrokenCondition(kind, rows, batch.reads.segment[rows])
        yield from self._holes()

    def _holes(self) -> Iterator[BrokenCondition]:
        """Yield offsets that no append can have filled, at all or in the order of the others."""
        holes = scans.unfilled(self.records, self.scan)
        if not len(holes.slots):
            return
        late = scans.scan(self.records, reads_begin=False, reads_end=True, appends_end=False)
        empty = scans.unfilled(self.records, late)
        yield BrokenCondition("hole", empty.slots, empty.segments)
        some = ~np.isin(holes.segments, empty.segments)
        yield BrokenCondition("hole-order", holes.slots[some], holes.segments[some])

    def _unplaced(self) -> Iterator[BrokenCondition]:
        """Yield appends without a place, each with the fewest laws that exclude every place.

        A segment that satisfies real time is not checked further. In a disordered segment
        the knowledge of its processes is checked too.
        """
        _, broken = unplaced(self.records, LINEARIZABLE)
        own = unplaced(self.records, UNPLACED["unplaced-own"], indices(self.disordered))
        broken = np.union1d(broken, own[1])
        for kind, laws in UNPLACED.items():
            if not len(broken):
                return
            lost, where = unplaced(self.records, laws, broken)
            yield BrokenCondition(kind, lost, where)
            broken = np.setdiff1d(broken, where)

    def _replaced_perhaps(self) -> Flags:
        """Return the segments in which an append without a known place may explain a read.

        There are three cases. A read skipped a record, the known replacement came too late for that
        read, and such an append may have replaced the record earlier. Or such an append would be
        among the offsets that fetches passed, unless it was replaced. Or its record would follow a
        later one, unless that is a copy.
        """
        records, batch = self.records, self.batch
        found = np.zeros(batch.segments, bool)
        if not (batch.compacted or records.at_least_once):
            return found
        reads, slots = records.replaced
        late = slots >= records.high[reads]
        late |= self.scan.earliest[slots] >= records.r_end[reads]
        found[batch.reads.segment[reads[late]]] = True
        reads, first, after = records.ended_perhaps
        late = (after == records.slots) | (self.scan.earliest[after] >= records.r_end[reads])
        late &= self.scan.latest[first] <= records.r_begin[reads]
        found[batch.reads.segment[reads[late]]] = True
        for laws in UNPLACED.values():
            (_, tight), (_, loose) = (unplaced(records, laws, surely=s) for s in (True, False))
            found[np.setdiff1d(tight, loose)] = True
        return found

    def verdict(self, segment: int) -> str:
        return _WORDS[int(self.verdicts[segment])]

    def reason(self, segment: int) -> str | None:
        """Return the reason why a segment is undecided."""
        if self.verdicts[segment] != UNDECIDED:
            return None
        if self.batch.operations[segment] == 0:
            return "no operation: nothing was judged"
        if self.records.ambiguous[segment]:
            return "a value was appended more than once with unknown fate: who wrote what is open"
        return "an append whose place is not known may stand where that matters: that is open"


def judge(batch: LogBatch, *, at_least_once: bool = False, gaps: bool = False) -> Judgement:
    """Check whether each log of the batch is linearizable.

    A segment without operations is undecided.

    Args:
        batch: the segments.
        at_least_once: whether a retry may leave copies of a record (no idempotence).
        gaps: whether offsets may have no record of this history: control records, compacted
            records, records of unrecorded writers. Otherwise each offset from 0 has one.

    Raises:
        ValueError: there are no segments, or columns are malformed.
    """
    found = Judgement(records_of(batch, at_least_once=at_least_once, gaps=gaps))
    if not (at_least_once and batch.compacted):
        return found
    return Judgement(records_of(batch, at_least_once=True, gaps=gaps, copies=True), found)


def gaps_in(history: History | Rows, configuration: Configuration) -> bool:
    """Return whether some offsets may have no record of a client.

    This is true of the kit's own traces (LeaderChange records), of compacted topics, and of
    histories with transactions, which end in control records. An operation of several parts with an
    append counts as a transaction. A recorder may also say so (`Omissions.offsets`).
    """
    rows = rows_of(history)
    compacted = configuration.compaction != "none"
    if configuration.transactions or compacted or rows.format == "trace":
        return True
    if rows.objects is not None and rows.objects.omissions.offsets:
        return True
    _, of, sizes = np.unique(rows.operation, return_inverse=True, return_counts=True)
    return bool((sizes[of.ravel()] > 1)[rows.f.are("append")].any())
