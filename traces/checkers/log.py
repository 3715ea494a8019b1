"""Is a partition's log linearizable? Decided exactly, for thousands of partitions at once.

Offsets order the appends, so that nothing is searched for: the check is one running maximum in the
order of offsets, two comparisons and one sorted matching [docs/log-checker.md; sound
and complete for known offsets and unique values]. O(n log n); O(n) where offsets are dense.

    judge(batch)   one answer for each segment of a `LogBatch` (columns.py)

A verdict is `holds`, `violated`, or `unknown` with the reason: values that were appended more than
once by appends of unknown fate leave open who wrote what. A violation is certified by at most two
operations. It is named after Jepsen's anomaly where there is one, else

    append-order    an append was invoked after one that stands behind it had been acknowledged
    stale-read      a read missed a record that was acknowledged, or seen, before it began
    future-read     a read was over before what it saw can have been there
    hole            an offset that no append can have filled (before it was seen to be)
    unplaced-append an append returned, but its record can stand nowhere in the log
    start-regress   a read below the log's start, after that start had been told
    offset-acked-twice, poll-before-position    as they say
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
"""Why an append has no place: for the other appends; for its own process; for reads that missed it,
so that it has one as soon as a read may be stale.
"""
OF_VALUES: Final = frozenset(("G1a", "phantom", "duplicate"))
"""Clashes that say nothing about order."""
_WORDS: Final = (HOLDS, VIOLATED, UNKNOWN)


class BrokenCondition(NamedTuple):
    """Violations of one condition: rows or slots of the victims, and their segments."""

    kind: str
    victims: Ints
    segments: Ints


class Judgement:
    """What was found of a batch.

    verdicts: HELD, BROKEN or UNDECIDED of each segment (int8). disordered: segments that are broken
    by more than values that should not have been read. guessed: segments in which it is open who
    wrote what, or what replaced what, and it matters. records, scan: what they rest on, which
    anomalies read as well; weaker: what weaker levels do, where real time has bounded no read.
    closely: the same, had nothing been replaced by copies that nobody saw; what is broken in that
    alone is open.
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
        """Say whether reads show that the log ended before a replaced first record.

        Such reads found nothing, and were over before the record that may have replaced the first
        one was there. Then their bounds are tighter.
        """
        reads, first, after = self.records.ended
        late = self.scan.earliest[after] >= self.records.r_end[reads]
        late &= self.records.high[reads] > first
        self.records.high[reads[late]] = first[late]
        return bool(late.any())

    def _tightened(self) -> Flags:
        """Segments in which `_ended` had something to say, which is about real time."""
        found = np.zeros(self.batch.segments, bool)
        changed = self.records.high != self.weaker.high
        found[self.batch.reads.segment[changed]] = True
        return found

    @cached_property
    def sessions(self) -> Sessions:
        """What each process knew, for who asks why a segment was rejected."""
        return sessions(self.weaker)

    @cached_property
    def alone(self) -> Scan:
        """The bounds that appends alone give, as if no read had missed anything."""
        return scans.scan(self.records, reads_begin=False, reads_end=True)

    def _conditions(self) -> Iterator[BrokenCondition]:
        """What an append alone contradicts is told as that, whatever some read missed besides."""
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
        """Offsets that no append can have filled; or could have, had others come later."""
        holes = scans.unfilled(self.records, self.scan)
        if not len(holes.slots):
            return
        late = scans.scan(self.records, reads_begin=False, reads_end=True, appends_end=False)
        empty = scans.unfilled(self.records, late)
        yield BrokenCondition("hole", empty.slots, empty.segments)
        some = ~np.isin(holes.segments, empty.segments)
        yield BrokenCondition("hole-order", holes.slots[some], holes.segments[some])

    def _unplaced(self) -> Iterator[BrokenCondition]:
        """Appends without a place, and what leaves none to them: the fewest laws that do.

        Whoever keeps to real time has seen enough, however the clocks of its processes touch; of
        others it is asked what their processes knew.
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
        """Say whether an append without a known place may explain what a read saw.

        A read passed over a record, or found nothing where one was, and what is known to have
        replaced it came too late for that read; such an append may have replaced it as well. Or
        such an append would stand where fetches went through, unless it was replaced; or behind
        what it came before, unless that is a copy.
        """
        records, batch = self.records, self.batch
        found = np.zeros(batch.segments, bool)
        if not (batch.compacted or records.at_least_once):
            return found
        if batch.compacted:
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
        """Why a segment is undecided."""
        if self.verdicts[segment] != UNDECIDED:
            return None
        if self.batch.operations[segment] == 0:
            return "no operation: nothing was judged"
        if self.records.ambiguous[segment]:
            return "a value was appended more than once with unknown fate: who wrote what is open"
        return "an append whose place is not known may stand where that matters: that is open"


def judge(batch: LogBatch, *, at_least_once: bool = False, gaps: bool = False) -> Judgement:
    """Whether each log of the batch is linearizable.

    at_least_once: a retry may have left copies of a record (a producer without idempotence).
    gaps: offsets that nobody appended or read are explained: by control records, compaction, or
    writers that were not recorded. Otherwise each offset from 0 on is a record of this history.

    Raises ValueError: no segments, or malformed columns. A segment without operations is undecided.
    """
    found = Judgement(records_of(batch, at_least_once=at_least_once, gaps=gaps))
    if not (at_least_once and batch.compacted):
        return found
    return Judgement(records_of(batch, at_least_once=True, gaps=gaps, copies=True), found)


def gaps_in(history: History | Rows, configuration: Configuration) -> bool:
    """Whether offsets may be taken by what no client wrote, or by what nobody can read any more.

    True of our own traces (LeaderChange records), of compacted topics, and of histories with
    transactions, which end in control records: a client's operation of several parts with an append
    among them is one.
    """
    rows = rows_of(history)
    compacted = configuration.compaction != "none"
    if configuration.transactions or compacted or rows.format == "trace":
        return True
    _, of, sizes = np.unique(rows.operation, return_inverse=True, return_counts=True)
    return bool((sizes[of.ravel()] > 1)[rows.f.are("append")].any())
