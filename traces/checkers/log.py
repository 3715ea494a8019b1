"""Is a partition's log linearizable? Decided exactly, for thousands of partitions at once.

Offsets order the appends, so that nothing is searched for: the check is one running maximum in the
order of offsets, two comparisons and one sorted matching [docs/log-checker.md; sound
and complete for known offsets and unique values]. O(n log n); O(n) where offsets are dense.

    judge(batch)             one answer for each segment of a `LogBatch` (columns.py)
    check_history(history)   the same as `Verdict`s, one for each topic-partition

A verdict is `holds`, `violated`, or `unknown` with the reason: values that were appended more than
once by appends of unknown fate leave open who wrote what. A violation is certified by at most two
operations. It is named after Jepsen's anomaly where there is one, else

    append-order    an append was invoked after one that stands behind it had been acknowledged
    stale-read      a read missed a record that was acknowledged, or seen, before it began
    future-read     a read was over before what it saw can have been there
    hole            an offset that no append can have filled (in time)
    unplaced-append an append returned, but its record can stand nowhere in the log
    start-regress   a read below the log's start, after that start had been told
    offset-acked-twice, poll-before-position    as they say
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from traces.checkers import scans
from traces.checkers.columns import Ints, LogBatch
from traces.checkers.records import Records, records_of
from traces.checkers.scans import Scan
from traces.checkers.sessions import Sessions, sessions
from traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from traces.history import History

MODEL: Final = "partition-log"

HELD: Final = 0
BROKEN: Final = 1
UNDECIDED: Final = 2
_WORDS: Final = (HOLDS, VIOLATED, UNKNOWN)


class Found(NamedTuple):
    """Violations of one condition: rows or slots of the victims, and their segments."""

    kind: str
    victims: Ints
    segments: Ints


class Judgement:
    """What was found of a batch.

    verdicts: HELD, BROKEN or UNDECIDED of each segment (int8). records, scan: what they rest on,
    which levels and anomalies read as well.
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        self.batch = records.batch
        self.scan: Scan = scans.scan(records, reads_begin=True, reads_end=True)
        self.found = tuple(each for each in self._conditions() if len(each.victims))
        broken = np.zeros(self.batch.segments, bool)
        for each in self.found:
            broken[each.segments] = True
        for clash in records.clashes:
            if not (clash.kind == "duplicate" and records.at_least_once):
                broken[clash.segment] = True
        broken |= records.overfull
        unsure = records.ambiguous | (self.batch.operations == 0)
        unsure[self._unplaced_with_gaps] = True
        self.verdicts = np.where(broken, BROKEN, np.where(unsure, UNDECIDED, HELD)).astype(np.int8)

    @cached_property
    def sessions(self) -> Sessions:
        """What each process knew, for who asks why a segment was rejected."""
        return sessions(self.records)

    def _conditions(self) -> list[Found]:
        records, scan, batch = self.records, self.scan, self.batch
        slots = scans.late_slots(records, scan)
        slots = slots[records.owner[slots] >= 0]
        future = scans.future_reads(records, scan)
        self.pairs = scans.shrunk_starts(records, scan)
        holes = scans.unfilled(records, scan)
        lost, where = scans.unplaced(records, scan)
        found = [
            Found("late", slots, records.segment_of(slots)),
            Found("future-read", future, batch.reads.segment[future]),
            Found("start-regress", self.pairs[1], batch.reads.segment[self.pairs[1]]),
            Found("hole", holes.slots, holes.segments),
        ]
        self._unplaced_with_gaps = where if records.gaps else np.zeros(0, np.int64)
        if not records.gaps:
            found.append(Found("unplaced-append", lost, where))
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
        return "an append returned without an offset and nobody read it: its place is open"


def judge(batch: LogBatch, *, at_least_once: bool = False, gaps: bool = False) -> Judgement:
    """Whether each log of the batch is linearizable.

    at_least_once: a retry may have left copies of a record (a producer without idempotence).
    gaps: offsets that nobody appended or read are explained: by control records, compaction, or
    writers that were not recorded. Otherwise each offset from 0 on is a record of this history.

    Raises ValueError: no segments, or malformed columns. A segment without operations is undecided.
    """
    return Judgement(records_of(batch, at_least_once=at_least_once, gaps=gaps))


def gaps_in(history: History) -> bool:
    """Whether offsets may be taken by what no client wrote.

    True of our own traces (LeaderChange records) and of histories with transactions, which end in
    control records: a group of several operations with an append among them is one.
    """
    if history.format == "trace":
        return True
    sizes: dict[int, int] = {}
    for each in history.operations:
        sizes[each.group] = sizes.get(each.group, 0) + 1
    return any(each.f == "append" and sizes[each.group] > 1 for each in history.operations)
