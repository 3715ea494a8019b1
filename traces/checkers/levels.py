"""How consistent was a partition's log? Its level, exactly, and how stale its reads were.

Levels [docs/reference/log-checker.md, Weaker levels], each of which implies those below it. They
differ in which operations bound each other: the log itself, each process's own order, or real time.

    7 linearizable          every operation in real time (log.py)
    6 regular + sessions    as 5, and each read sees every append acknowledged before it began
    5 bounded staleness     as 4, and no read sees what was appended only after it was over; how
                            stale it is, `staleness` tells
    4 ordered sequential    as 3, and appends stand in the order of real time
    3 sequential            one order of everything that keeps the order of each process
    2 durable prefix        all fetches are runs of one log that misses nothing acknowledged
    1 consistent prefix     the same, but what was acknowledged and never read may be missing
    0 divergent             an offset with two values, a value nobody sent, or an aborted read

Three definitions go beyond that table. The log's start is compared at level 7 only: replicas delete
on their own, so that it may go back below, which is the anomaly start-regress. The end that comes
along with a fetch is nothing that a session knows (sessions.py). A copy of a record (`duplicate`)
costs level 7 only: delivery is judged apart from order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.reference.clients.promises import Level
from kraftcheck.traces.checkers import scans
from kraftcheck.traces.checkers.columns import EARLIEST, FETCH, Flags, Ints
from kraftcheck.traces.checkers.log import BROKEN, HELD, Judgement
from kraftcheck.traces.checkers.owners import TAKEN
from kraftcheck.traces.checkers.records import Records
from kraftcheck.traces.checkers.scans import Scan
from kraftcheck.traces.checkers.segments import ENDLESS
from kraftcheck.traces.checkers.unplaced import Laws, unplaced


class Staleness(NamedTuple):
    """Reads that could tell whether a record was absent, a row for each."""

    read: Ints
    """row."""
    segment: Ints
    lag: Ints
    """For how long at least the first record that it missed had been there, in the history's unit;
    0 if it missed none [Jepsen's realtime lag].
    """
    missed: Ints
    """How many records."""


class Levels(NamedTuple):
    """The level of each segment (where owners had to be guessed, see `Judgement`)."""

    held: Ints
    """Of each segment, the tightest level."""
    exact: Flags
    """False where it is only an upper bound."""

    def level(self, segment: int) -> Level:
        return Level(int(self.held[segment]))


def levels_of(judgement: Judgement) -> Levels:
    """The level of each segment."""
    held = np.full(judgement.batch.segments, int(Level.LINEARIZABLE), np.int64)
    rejected = judgement.verdicts == BROKEN
    if rejected.any():
        held[rejected] = int(Level.REGULAR_SESSIONS)
        for broken, cap in _caps(judgement):
            held[broken] = np.minimum(held[broken], int(cap))
        # Whoever is linearizable holds every level, however its processes' clocks touch.
        held[~rejected] = int(Level.LINEARIZABLE)
    return Levels(held, _exact(judgement, held))


def _exact(judgement: Judgement, held: Ints) -> Flags:
    records = judgement.records
    exact = ~judgement.guessed & (records.batch.operations > 0)
    found: Flags = exact | ((held == int(Level.LINEARIZABLE)) & (judgement.verdicts == HELD))
    return found


# -- What breaks a level


def _caps(judgement: Judgement) -> Iterator[tuple[Ints, int]]:
    """Segments with something that breaks a level, and the level that they have at most."""
    records, own = judgement.weaker, judgement.sessions
    segment, lowest = records.batch.reads.segment, own.lowest
    appends = scans.scan(records, reads_begin=False, reads_end=False)
    reads = scans.scan(records, reads_begin=False, reads_end=True)
    timeless = _timeless(records)
    # A read began after a record had been acknowledged that it misses.
    yield segment[records.r_begin > _present(records, appends)], Level.BOUNDED_STALENESS
    yield segment[scans.future_reads(records, reads)], Level.ORDERED_SEQUENTIAL
    yield scans.unfilled(records, reads, lowest).segments, Level.ORDERED_SEQUENTIAL
    yield records.segment_of(scans.late_slots(records, appends)), Level.SEQUENTIAL
    yield scans.unfilled(records, appends, lowest).segments, Level.SEQUENTIAL
    yield own.segment, Level.DURABLE_PREFIX
    yield scans.unfilled(records, timeless, lowest).segments, Level.DURABLE_PREFIX
    yield scans.unfilled(records, timeless).segments, Level.DIVERGENT
    yield np.flatnonzero(records.overfull), Level.DIVERGENT
    for laws, cap in _UNPLACED:
        yield unplaced(records, laws)[1], cap
    for clash in records.clashes:
        yield clash.segment, clash.level


def _present(records: Records, found: Scan) -> Ints:
    """Of each read, when the first record that it missed was there at the latest."""
    reads = records.batch.reads
    ends = records.base[reads.segment + 1]
    inside = records.high < ends
    return np.where(inside, found.latest[np.where(inside, records.high, 0)], ENDLESS)


_UNPLACED: Final = (
    (Laws(time=True, seen=True, missed=True, own=True), Level.BOUNDED_STALENESS),
    (Laws(time=True, seen=True, own=True), Level.ORDERED_SEQUENTIAL),
    (Laws(time=True, own=True), Level.SEQUENTIAL),
    (Laws(own=True), Level.DURABLE_PREFIX),
)
"""An append that has no place under these laws leaves that level at most. Below, there is always
room at the end of the log.
"""


def _timeless(records: Records) -> Scan:
    """Bounds of a log in which no operation comes before another in time."""
    free = np.empty(records.slots + 1, np.int64)
    # Segments still follow each other, which is how the matching tells them apart.
    segment = records.segment_of(np.arange(records.slots + 1))
    ends = _ends(records)
    free[:] = ends[np.minimum(segment, records.batch.segments - 1)]
    found = Scan(records, free, reads_end=False)
    found.latest = free
    return found


def _ends(records: Records) -> Ints:
    """Of each segment, a time after all its invocations and before those of the next."""
    top = np.full(records.batch.segments, -1, np.int64)
    for segment, begin in (
        (records.batch.appends.segment, records.a_begin),
        (records.batch.reads.segment, records.r_begin),
    ):
        np.maximum.at(top, segment, begin + 1)
    return np.maximum.accumulate(top)


# -- Staleness


def staleness(judgement: Judgement) -> Staleness:
    """Of all reads that could miss a record: how long it had been there, and how many there were.

    Only what an answer proves counts: a fetch that returned records may have stopped for its size.
    """
    records = judgement.records
    reads = records.batch.reads
    ends = records.base[reads.segment + 1]
    told = (reads.end >= 0) & (reads.kind != EARLIEST)
    empty = (reads.kind == FETCH) & (reads.splits[1:] == reads.splits[:-1]) & (reads.start >= 0)
    rows = np.flatnonzero(records.judged & (told | empty))
    high = records.high[rows]
    inside = high < ends[rows]
    latest = judgement.scan.latest
    present = _present(records, judgement.scan)[rows]
    # Times are doubled, and completions odd.
    lag = np.where(present < records.r_begin[rows], (records.r_begin[rows] - present + 1) // 2, 0)
    reached = np.searchsorted(latest, records.r_begin[rows], side="left")
    count = np.concatenate(([0], np.cumsum(records.owner[:-1] != TAKEN)))
    missed = count[np.maximum(np.minimum(reached, ends[rows]), high)] - count[high]
    return Staleness(rows, reads.segment[rows], lag, np.where(inside, missed, 0))
