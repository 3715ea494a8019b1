"""What a batch of histories says of its logs: which record stands where, and who appended it.

This is the preparation of docs/histories.md: P1 gives each offset an owner, P2 looks into each
fetch, and by P3 every read becomes two numbers. A record's place is its *slot*: segments follow
each other, within one the records stand in the order of their offsets. A read proves that all
records below its slot `low` are there, and that the record at its slot `high` is not.

Times are doubled and shifted so that one order serves everything: an invocation at t is 2t, a
completion 2t + 1 (operations that touch are concurrent), and every moment of a segment comes after
all those of the segment before. So one running maximum over all slots is one for each segment.

Without `gaps` every offset from 0 on has a record of this history. With `gaps`, an offset that
nobody appended or read is explained (control records, compaction, writers that were not recorded)
and gets no slot.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from traces.checkers.columns import (
    DID,
    EARLIEST,
    FAILED,
    FETCH,
    NEVER,
    Appends,
    Flags,
    Ints,
    LogBatch,
    Reads,
    check_batch,
    indices,
)
from traces.checkers.compaction import successors

ENDLESS: Final = np.int64(NEVER)
"""Later than every time, after shifting too."""
TAKEN: Final = -3
"""The owner of a slot that holds whatever was there below an end that was told."""
BEFORE: Final = np.int64(-1)
"""Earlier than every time."""
_ZERO: Final = np.zeros(1, np.int64)
_NONE: Final = np.zeros(0, np.int64)


class Clash(NamedTuple):
    """Contradictions of one kind that need no clock, a row for each.

    kind: Jepsen's name where there is one. level: the strongest level that a segment with one can
    have. first, second: rows of `first_of` ("append" or "read") and `second_of`; first may be -1.
    offset: where. value: what was read there, or -1.
    """

    kind: str
    level: int
    segment: Ints
    first_of: str
    first: Ints
    second_of: str
    second: Ints
    offset: Ints
    value: Ints


class Records(NamedTuple):
    """The logs of a batch. Arrays of slots have one entry more than there are slots.

    base: first slot of each segment, and the number of slots. owner: of each slot, the row of the
    append that it is known to come from, or -1 (nobody), -2 (nobody that sent it) or TAKEN. begin,
    end: its window (BEFORE, ENDLESS: a hole). offset: of each slot. append_slot: of each append,
    its record's slot or -1. low, high: of each read, see above (high = slots: none). judged: reads
    that were answered. saw: rows of reads that prove a record there, in no order. a_begin ...:
    shifted times of all rows.
    spare: appends whose record was not seen (at least once, whose offset was not told: what was
    seen may be a copy). ambiguous: segments in which owners had to be guessed;
    windows there are as wide as any guess makes them. e_read, e_slot: of each record that was read.
    overfull: segments with more holes than appends could fill. replaced: (reads, slots): a read
    passed over a record of a compacted topic that this slot's has replaced, or else an append whose
    place is not known (`slots`: only that can have); segments in which that matters are open.
    ended: (reads, slots, slots): a read found nothing; its log ended at the first of these slots,
    or the second's record has replaced that one's. ended_perhaps: the same, but for an append whose
    place is not known, which may have replaced it instead (second: `slots` if no other can have).
    """

    batch: LogBatch
    gaps: bool
    at_least_once: bool
    base: Ints
    owner: Ints
    begin: Ints
    end: Ints
    offset: Ints
    append_slot: Ints
    low: Ints
    high: Ints
    judged: Flags
    saw: Ints
    a_begin: Ints
    a_end: Ints
    r_begin: Ints
    r_end: Ints
    spare: Flags
    ambiguous: Flags
    e_read: Ints
    e_slot: Ints
    overfull: Flags
    replaced: tuple[Ints, Ints]
    ended: tuple[Ints, Ints, Ints]
    ended_perhaps: tuple[Ints, Ints, Ints]
    clashes: tuple[Clash, ...]

    @property
    def slots(self) -> int:
        return int(self.base[-1])

    def segment_of(self, slots: Ints) -> Ints:
        return np.searchsorted(self.base, slots, side="right") - 1


def records_of(
    batch: LogBatch, *, at_least_once: bool = False, gaps: bool = False, copies: bool = False
) -> Records:
    """Everything that needs no clock. Raises ValueError for a malformed batch.

    copies: a copy that nobody saw may have replaced a record of a compacted topic.
    """
    check_batch(batch)
    times = _times(batch)
    work = _Work(batch, at_least_once, gaps, copies, times)
    work.place()
    work.own()
    work.adopt()
    if gaps:
        work.close_gaps()
    work.look_into_fetches()
    return work.records()


# -- Times


def _times(batch: LogBatch) -> tuple[Ints, Ints, Ints, Ints]:
    appends, reads = batch.appends, batch.reads
    times = np.concatenate((appends.invoked, reads.invoked, appends.completed, reads.completed))
    count, half = len(appends.invoked), len(times) // 2
    first, last = (int(times.min()), int(times.max())) if half else (0, 0)
    endless = indices(times >= NEVER) if last >= NEVER else _NONE
    if len(endless):
        times[endless] = first
        last = int(times.max())
    width = 2 * (last - first + 2)
    if width * batch.segments < NEVER:
        times <<= 1
        if batch.segments > 1:
            for rows, begin in ((appends.segment, 0), (reads.segment, count)):
                shift = rows * width
                for at in (begin, half + begin):
                    times[at : at + len(rows)] += shift
        times -= 2 * first
    else:
        times = _ranks(times, np.concatenate((appends.segment, reads.segment)))
    times[half:] += 1
    times[endless] = ENDLESS
    return times[:count], times[half : half + count], times[count:half], times[half + count :]


def _ranks(times: Ints, segment: Ints) -> Ints:
    """Twice the ranks in their segment of times whose numbers are too large to shift."""
    segments = np.concatenate((segment, segment))
    order = np.lexsort((times, segments))
    new = np.ones(len(order), bool)
    new[1:] = (times[order][1:] != times[order][:-1]) | (
        segments[order][1:] != segments[order][:-1]
    )
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(new)
    return 2 * ranks


# -- The work


class _Work:
    """The steps of the preparation, in their order; each leaves its columns behind."""

    def __init__(
        self,
        batch: LogBatch,
        at_least_once: bool,
        gaps: bool,
        copies: bool,
        times: tuple[Ints, ...],
    ) -> None:
        self.batch, self.at_least_once, self.gaps, self.copies = batch, at_least_once, gaps, copies
        self.a: Appends = batch.appends
        self.r: Reads = batch.reads
        self.a_begin, self.a_end, self.r_begin, self.r_end = times
        self.judged: Flags = self.r.outcome == DID
        self.live: Flags = self.a.outcome != FAILED
        self.of_appends = _Spread(self.a.segment, batch.segments)
        self.of_reads = _Spread(self.r.segment, batch.segments)
        self._told_records()
        self.ambiguous = np.zeros(batch.segments, bool)
        self.replaced: list[tuple[Ints, Ints]] = []
        self.passed: list[tuple[Ints, Ints]] = []
        self.ended = (_NONE, _NONE, _NONE)
        self.ended_perhaps = (_NONE, _NONE, _NONE)
        self.any_taken = False
        self.misplaced: list[Ints] = []
        self.clashes: list[Clash] = []

    def _told_records(self) -> None:
        """The records that judged reads returned, one after the other: all or some of the batch."""
        r = self.r
        self.counts = r.splits[1:] - r.splits[:-1]
        self.e_offset, self.e_value = r.offsets, r.values
        if np.count_nonzero(self.judged) < len(self.judged):
            every = _rows(self.counts, indices(self.counts > 0))
            seen = indices(self.judged[every])
            self.e_offset, self.e_value = self.e_offset[seen], self.e_value[seen]
            self.counts = np.where(self.judged, self.counts, 0)
        self.some: Flags = self.counts > 0
        self.full = indices(self.some)
        self.e_read = _rows(self.counts, self.full)
        single = self.batch.segments == 1
        self.e_segment: Ints = (
            np.zeros(len(self.e_read), np.int64) if single else r.segment.take(self.e_read)
        )
        self.of_records = _Spread(self.e_segment, self.batch.segments)

    # -- Slots

    def place(self) -> None:
        """A slot for each offset: every one of them where they are dense, else those mentioned."""
        batch, a, r = self.batch, self.a, self.r
        told = indices(self.judged & (r.end >= 0))
        span = np.zeros(batch.segments, np.int64)
        self.of_appends.top(a.offset, span)
        self.of_records.top(self.e_offset, span)
        if len(told):
            np.maximum.at(span, r.segment[told], r.end[told])
        rows = self.of_appends.counts
        if np.count_nonzero(self.live) < len(self.live):
            rows = np.bincount(a.segment[self.live], minlength=batch.segments)
        # An offset has an append, or somebody read there, or it is a hole for a spare append.
        room = rows + self.of_records.counts
        # (At least once, for a copy of whichever.)
        self.sparse: Flags = span > (4 * room + 64 if self.gaps or self.at_least_once else room)
        self.any_sparse = np.count_nonzero(self.sparse) > 0
        self.overfull = np.zeros(batch.segments, bool)
        if not self.gaps:
            # At least once, copies that nobody read may stand there, too many to be weighed.
            (self.ambiguous if self.at_least_once else self.overfull)[:] = self.sparse
        if self.any_sparse:
            self._gather_keys(span, told)
        self.base = np.concatenate((_ZERO, span.cumsum()))
        self.span = span
        self.offsets = np.arange(self.base[-1] + 1)
        if batch.segments > 1:
            self.offsets -= np.repeat(self.base, np.append(span, 1))
        if self.any_sparse:
            inside = np.repeat(np.append(self.sparse, False), np.append(span, 1))
            self.offsets[inside] = self.kept[:, 1]
        self.a_slot = self._slots_of(a.segment, a.offset, self.of_appends)
        self.e_slot = self._slots_of(self.e_segment, self.e_offset, self.of_records)

    def _slots_of(self, segment: Ints, offset: Ints, rows: _Spread) -> Ints:
        """The slots of offsets of all rows of a table; of an unknown offset, some slot."""
        if self.any_sparse:
            return self.slot(segment, offset)
        return offset + rows.spread(self.base)

    def _gather_keys(self, span: Ints, told: Ints) -> None:
        """Sparse segments: the offsets that anything mentions, in order."""
        a, r = self.a, self.r
        begun = self.judged & (r.start >= 0)
        taken = told[r.end[told] > 0] if self.gaps else _NONE
        pairs = np.concatenate(
            [
                np.stack((segment, offset), axis=1)[self.sparse[segment]]
                for segment, offset in (
                    (a.segment[a.offset >= 0], a.offset[a.offset >= 0]),
                    (self.e_segment, self.e_offset),
                    (r.segment[told], r.end[told]),
                    (r.segment[taken], r.end[taken] - 1),
                    (r.segment[begun], r.start[begun]),
                )
            ]
        )
        pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        new = np.ones(len(pairs), bool)
        new[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
        self.kept = pairs[new]
        self.distinct, rank = np.unique(self.kept[:, 1], return_inverse=True)
        self.keys = self.kept[:, 0] * (len(self.distinct) + 1) + rank.reshape(-1)
        counts = np.bincount(self.kept[:, 0], minlength=self.batch.segments)
        span[self.sparse] = counts[self.sparse]
        self.key_base = np.concatenate((_ZERO, np.cumsum(counts)))

    def slot(self, segment: Ints, offset: Ints) -> Ints:
        """The slot of an offset; of one beyond the log, the slot that would come next."""
        found: Ints = self.base[segment] + np.minimum(offset, self.span[segment])
        if self.any_sparse:
            some = indices(self.sparse[segment])
            at = segment[some]
            rank = np.searchsorted(self.distinct, offset[some])
            place = np.searchsorted(self.keys, at * (len(self.distinct) + 1) + rank)
            found[some] = self.base[at] + place - self.key_base[at]
        return found

    # -- P1: owners

    def own(self) -> None:
        """Acknowledged appends own their slots; whoever read something else there is in error."""
        slots = int(self.base[-1])
        unknown = indices(self.a.offset < 0)
        # Rows without an offset write to the slot after all others, which is no record's.
        self.a_slot[unknown] = slots
        self.owner = np.full(slots + 1, -1, np.int64)
        self.owner[self.a_slot] = np.arange(len(self.a_slot))
        self.begin = np.full(slots + 1, BEFORE)
        self.end = np.full(slots + 1, ENDLESS)
        self.begin[self.a_slot] = self.a_begin
        self.end[self.a_slot] = self.a_end
        self.owner[slots], self.begin[slots], self.end[slots] = -1, BEFORE, ENDLESS
        self.a_slot[unknown] = -1
        acked = len(self.a_slot) - len(unknown)
        if np.count_nonzero(self.owner >= 0) < acked:
            rows = indices(self.a_slot >= 0)
            self._acked_twice(rows[self.owner[self.a_slot[rows]] != rows])
        self.unknown = unknown
        owner = self.owner.take(self.e_slot)
        self.orphan = owner < 0
        if len(self.a.value):
            at = indices(self.a.value.take(owner, mode="wrap") != self.e_value)
            if len(at):
                at = at[~self.orphan[at]]
                self._clash(
                    "inconsistent-offsets", 0, "append", owner[at], "read", self.e_read[at], at=at
                )
                self._unsent(at)
                self.misplaced.append(at)

    def _acked_twice(self, twice: Ints) -> None:
        other = self.owner[self.a_slot[twice]]
        same = self.a.value[twice] == self.a.value[other]
        for kind, level, some in (
            ("inconsistent-offsets", 0, ~same),
            ("offset-acked-twice", 2, same),
        ):
            rows = twice[some]
            self._clash(
                kind,
                level,
                "append",
                other[some],
                "append",
                rows,
                offset=self.a.offset[rows],
                value=self.a.value[rows],
            )
        self.a_slot[twice] = -1

    def adopt(self) -> None:
        """Records that were read where nobody was acknowledged: find the append by the value."""
        at = indices(self.orphan)
        self.matched = np.zeros(len(self.a.value), bool)
        self.misplaced.append(at)
        self._doubled(np.concatenate(self.misplaced))
        if not len(at):
            return
        at = at[np.argsort(self.e_slot[at], kind="stable")]
        slot = self.e_slot[at]
        first = np.ones(len(at), bool)
        first[1:] = slot[1:] != slot[:-1]
        leader = at[first][np.cumsum(first) - 1]
        wrong = self.e_value[at] != self.e_value[leader]
        if wrong.any():
            self._clash(
                "inconsistent-offsets",
                0,
                "read",
                self.e_read[leader[wrong]],
                "read",
                self.e_read[at[wrong]],
                at=at[wrong],
            )
            self._unsent(at[wrong])
        self._adopt_by_value(at[first])

    def _adopt_by_value(self, at: Ints) -> None:
        """Each orphaned slot once, as the position of a record that was read there."""
        slot, segment, value = self.e_slot[at], self.e_segment[at], self.e_value[at]
        # At least once, a record may be a copy of an acknowledged append as well.
        could = self.live if self.at_least_once else self.live & (self.a.offset < 0)
        rows = indices(could)
        mine, theirs, groups = _join(segment, value, self.a.segment[rows], self.a.value[rows])
        candidates = np.bincount(theirs, minlength=groups)[mine]
        wanted = np.bincount(mine, minlength=groups)[mine]
        known = indices(candidates > 0)
        if len(known):
            self._take(known, slot, segment, mine, theirs, rows, groups, candidates, wanted)
        lost = indices(candidates == 0)
        if len(lost):
            self._disown(at[lost])

    def _doubled(self, at: Ints) -> None:
        """Values that stand at more offsets than they were sent. `at`: all records that were read
        where no append of their value was acknowledged.
        """
        if self.at_least_once or not len(at):
            return
        asked = np.zeros(max(self.a.value.max(initial=0), self.e_value.max(initial=0)) + 1, bool)
        asked[self.e_value[at]] = True
        live = indices(self.live & asked[self.a.value])
        mine, theirs, groups = _join(
            self.e_segment[at], self.e_value[at], self.a.segment[live], self.a.value[live]
        )
        acked = indices(self.a.offset[live] >= 0)
        told = self.slot(self.a.segment[live[acked]], self.a.offset[live[acked]])
        slots = np.concatenate((self.e_slot[at], told))
        _, first = np.unique(
            np.stack((np.concatenate((mine, theirs[acked])), slots)), axis=1, return_index=True
        )
        places = np.bincount(np.concatenate((mine, theirs[acked]))[first], minlength=groups)
        writer = np.full(groups, -1, np.int64)
        writer[theirs[::-1]] = live[::-1]
        writers = np.bincount(theirs, minlength=groups)
        news = np.sort(first[first < len(at)])
        more = news[(places > writers)[mine[news]] & (writer[mine[news]] >= 0)]
        rows = at[more]
        self._clash(
            *("duplicate", 6, "append", writer[mine[more]], "read", self.e_read[rows]), at=rows
        )

    def _take(
        self,
        known: Ints,
        slot: Ints,
        segment: Ints,
        mine: Ints,
        theirs: Ints,
        rows: Ints,
        groups: int,
        candidates: Ints,
        wanted: Ints,
    ) -> None:
        """Gives slots the windows of their appends; the widest of all where there are several."""
        begin = np.full(groups, ENDLESS)
        end = np.full(groups, BEFORE)
        np.minimum.at(begin, theirs, self.a_begin[rows])
        np.maximum.at(end, theirs, self.a_end[rows])
        one = np.full(groups, -1, np.int64)
        by_begin = np.argsort(-self.a_begin[rows], kind="stable")
        one[theirs[by_begin]] = rows[by_begin]
        self.owner[slot[known]] = one[mine[known]]
        self.begin[slot[known]] = begin[mine[known]]
        # The first slot of a value is the append itself, others are copies of it. An append that is
        # acknowledged has its own slot, so that all orphans are copies. At least once, any may be.
        first = np.zeros(len(slot), bool)
        ordered = known[np.argsort(slot[known], kind="stable")]
        first[ordered[np.unique(mine[ordered], return_index=True)[1]]] = True
        acked = self.a.offset[one[mine[known]]] >= 0
        itself = first[known] & ~acked & (not self.at_least_once)
        self.end[slot[known]] = np.where(itself, end[mine[known]], ENDLESS)
        # (Of several that may have written it, none is known to stand there.)
        single = known[itself & (candidates[known] == 1)]
        self.a_slot[one[mine[single]]] = slot[single]
        # Where more could have written a value than slots hold it, any of them may be left over.
        sure = np.zeros(groups, bool)
        sure[mine[known]] = (candidates <= wanted)[known]
        self.matched[rows[sure[theirs]]] = True
        if self.at_least_once:
            must = (self.a.outcome[rows] == DID) & (self.a.offset[rows] < 0)
            unsure = np.bincount(theirs[must], minlength=groups)[mine] > 0
            unsure &= candidates > 1
        else:
            unsure = candidates > 1
        if unsure.any():
            self.ambiguous[segment[unsure]] = True

    def _unsent(self, at: Ints) -> tuple[Ints, Ints]:
        """Aborted reads and phantoms among records that were read. Of each, an append of its value
        that did not fail, and one that did; -1 where there is none.
        """
        segment, value = self.e_segment[at], self.e_value[at]
        mine, theirs, groups = _join(segment, value, self.a.segment, self.a.value)
        live, dead = np.full(groups, -1, np.int64), np.full(groups, -1, np.int64)
        live[theirs[self.live]] = indices(self.live)
        # Of several, the one that was invoked first.
        dead[theirs[~self.live][::-1]] = indices(~self.live)[::-1]
        sent, aborted = live[mine], dead[mine]
        for kind, some in (
            ("G1a", (sent < 0) & (aborted >= 0)),
            ("phantom", (sent < 0) & (aborted < 0)),
        ):
            rows = at[some]
            self._clash(kind, 0, "append", aborted[some], "read", self.e_read[rows], at=rows)
        return sent, aborted

    def _disown(self, at: Ints) -> None:
        """Values that no append of unknown fate explains: copies, aborted reads, phantoms."""
        copy, aborted = self._unsent(at)
        copied = indices(copy >= 0)
        slots = self.e_slot[at[copied]]
        self.owner[slots] = copy[copied]
        self.begin[slots] = self.a_begin[copy[copied]]
        # Nobody appended these; they are records all the same, at no time in particular, but for
        # aborted ones: nobody can have seen them before they were sent.
        strange = self.e_slot[at[copy < 0]]
        self.owner[strange] = -2
        sent = indices((copy < 0) & (aborted >= 0))
        self.begin[self.e_slot[at[sent]]] = self.a_begin[aborted[sent]]

    # -- Gaps

    def close_gaps(self) -> None:
        """Only records have slots, and the last offset below each end that was told, whatever is
        there: the log does not end before it again. What nobody appended or read takes none.
        """
        told = indices(self.judged & (self.r.end > 0))
        last = self.slot(self.r.segment.take(told), self.r.end.take(told) - 1)
        last = last[self.owner.take(last) == -1]
        self.owner[last] = TAKEN
        self.any_taken = len(last) > 0
        known = self.owner[:-1] != -1
        if known.all():
            self.rank: Ints | None = None
            return
        rank = np.concatenate((_ZERO, np.cumsum(known)))
        keep = np.append(indices(known), len(known))
        self.rank = rank
        self.owner, self.begin, self.end = self.owner[keep], self.begin[keep], self.end[keep]
        self.offsets = self.offsets[keep]
        self.e_slot = rank[self.e_slot]
        placed = self.a_slot >= 0
        self.a_slot[placed] = rank[self.a_slot[placed]]
        self.wide_base, self.base = self.base, rank[self.base]

    def near(self, segment: Ints, offset: Ints) -> Ints:
        """The slot of the first record at or past an offset."""
        if not self.gaps or self.rank is None:
            return self.slot(segment, offset)
        close, self.base = self.base, self.wide_base
        found: Ints = self.rank[self.slot(segment, offset)]
        self.base = close
        return found

    def visible(self, segment: Ints, offset: Ints) -> Ints:
        """The slot of the first record at or past an offset that somebody can read."""
        found = self.near(segment, offset)
        if not self.any_taken:
            return found
        rows = np.arange(len(self.owner))
        rows[self.owner == TAKEN] = len(self.owner) - 1
        records = np.minimum.accumulate(rows[::-1])[::-1]
        visible: Ints = np.minimum(records[found], self.base[segment + 1])
        return visible

    # -- P2, P3: reads

    def look_into_fetches(self) -> None:
        r, slots, full = self.r, int(self.base[-1]), self.full
        base = self.of_reads.spread(self.base)
        self.low = np.full(len(r.segment), base)
        self.high = np.full(len(r.segment), slots, np.int64)
        # Of the reads with records, where theirs begin and end among all of them.
        single = len(full) == len(self.e_slot)
        self.until = np.arange(1, len(full) + 1) if single else np.cumsum(self.counts.take(full))
        self.since = self.until - 1 if single else self.until - self.counts.take(full)
        self.low[full] = (self.e_slot if single else self.e_slot.take(self.until - 1)) + 1
        if not single:
            self._inside()
        self._begins(single)
        asked = self.judged & (r.kind == FETCH) & ~self.some
        empty = indices(asked & (r.start >= 0))
        if len(empty):
            self._found_nothing(empty)
        told = indices(self.judged & (r.end >= 0))
        self.saw = full
        if len(told):
            self._told(told)
        self._replaced_before()
        if len(told):
            # A log whose end was told is not empty, unless that is its first slot.
            self.saw = indices(self.low > base)

    def _inside(self) -> None:
        """Within a fetch, record follows record."""
        step = self.e_slot[1:] - self.e_slot[:-1]
        same = self.e_read[1:] == self.e_read[:-1]
        back = indices(same & (step <= 0)) + 1
        if len(back):
            self._clash(
                *("int-nonmonotonic-poll", 0, "read", np.full(len(back), -1)),
                *("read", self.e_read[back]),
                at=back,
            )
        over = indices(same & (step > 1)) + 1
        if len(over):
            since, until = self.e_slot[over - 1] + 1, self.e_slot[over]
            self._skipped("int-poll-skip", self.e_read[over], since, until)

    def _begins(self, single: bool) -> None:
        """A fetch begins with the first record from where it asked on, or there is none."""
        r, full = self.r, self.full
        asked = r.start.take(full)
        given = self.e_offset if single else self.e_offset.take(self.since)
        odd = indices((given != asked) & (asked >= 0))
        if len(odd):
            odd = odd[r.kind[full[odd]] == FETCH]
        if not len(odd):
            return
        rows, at = full[odd], self.since[odd]
        begins = self.e_slot[at]
        start = self.near(r.segment[rows], r.start[rows])
        over = indices(begins > start)
        if len(over):
            self._skipped("poll-skip", rows[over], start[over], begins[over])
        # Exact offsets: a dense log has no record between where it asked and what it got.
        early = indices(begins < start)
        if len(early):
            self._clash(
                *("poll-before-position", 2, "read", np.full(len(early), -1)),
                *("read", rows[early]),
                at=at[early],
            )

    def _told(self, told: Ints) -> None:
        """The end that was told: all records below it are there, none at or past it."""
        r = self.r
        end = self.near(r.segment[told], r.end[told])
        start = r.kind[told] == EARLIEST
        self.low[told] = np.maximum(self.low[told], end)
        bounded = told[~start]
        self.high[bounded] = np.minimum(self.high[bounded], end[~start])
        wrong = bounded[self.low[bounded] > self.high[bounded]]
        if len(wrong):
            self._contradicted(wrong)

    def _contradicted(self, rows: Ints) -> None:
        """Reads that prove a record there and absent at once; their second is the read itself."""
        level = self._worth(self.high[rows], self.low[rows])
        for worth in np.unique(level):
            some = rows[level == worth]
            self._clash(
                *("poll-skip", int(worth), "append", self.owner[self.high[some]]),
                *("read", some),
                offset=self.offsets[self.high[some]],
                value=np.full(len(some), -1),
            )

    def _skipped(self, kind: str, reads: Ints, since: Ints, until: Ints) -> None:
        """Fetches that passed over the records in slots [since, until)."""
        if self.any_taken:
            records = np.concatenate((_ZERO, np.cumsum(self.owner[:-1] != TAKEN)))
            some = records[until] > records[since]
            reads, since, until = reads[some], since[some], until[some]
        if self.batch.compacted:
            # (Keys that nobody knows: what was returned stands behind, and may have replaced it.)
            if self.batch.keys is None:
                return
            reads, since, until = self._unreplaced(reads, since, until)
        level = self._worth(since, until)
        for worth in np.unique(level):
            some = level == worth
            self._clash(
                *(kind, int(worth), "append", self.owner[since[some]]),
                *("read", reads[some]),
                offset=self.offsets[since[some]],
                value=np.full(int(some.sum()), -1),
            )

    def _unreplaced(self, reads: Ints, since: Ints, until: Ints) -> tuple[Ints, Ints, Ints]:
        """Those who passed over a record that no other can have replaced."""
        if not len(reads):
            return _NONE, _NONE, _NONE
        after, sent = self.replacing
        unsure = sent < ENDLESS
        some = np.stack((since, until), axis=1).reshape(-1)
        surely, perhaps = (
            np.maximum.reduceat(np.where(each, -1, after), some)[::2] for each in (unsure, ~unsure)
        )
        lost = surely == self.base[-1]
        known = ~lost & (surely >= 0)
        self.passed.append((reads[known], surely[known]))
        self.replaced.append((reads[perhaps >= 0], perhaps[perhaps >= 0]))
        return reads[lost], since[lost], until[lost]

    def _found_nothing(self, rows: Ints) -> None:
        """Fetches without a record: none stands from where they asked on. Of a compacted topic the
        first may be gone; then they tell no more, since a fetch may end with what was cleaned.
        """
        segment = self.r.segment.take(rows)
        first = self.visible(segment, self.r.start.take(rows))
        self.high[rows] = first
        if not self.batch.compacted:
            return
        replaced, sent = self.replacing
        # Perhaps it ended with the record of an append that nobody saw, before the first.
        hidden = self.r.start.take(rows) < self.offsets[first]
        hidden &= self.vanishing[segment] < self.r_end[rows]
        unsure = hidden | (sent[first] < self.r_end[rows])
        some = indices(unsure & (replaced[first] >= 0))
        self.ended_perhaps = (rows[some], first[some], replaced[first[some]])
        after = np.where(unsure, -1, replaced[first])
        gone = indices((first < self.base[segment + 1]) & (after < self.base[-1]))
        rows, first, after, hidden = rows[gone], first[gone], after[gone], hidden[gone]
        self.high[rows] = self.base[-1]
        told = self.r.end.take(rows) > self.offsets[first]
        plain = told & ~hidden
        self._unreplaced(rows[plain], first[plain], first[plain] + 1)
        hidden &= told & (replaced[first] >= 0)
        self.replaced.append((rows[hidden], replaced[first[hidden]]))
        known = after >= 0
        self.ended = (rows[known], first[known], after[known])

    def _replaced_before(self) -> None:
        """Who passed over records was over only after what replaced them was there. If that stands
        at or past the end that was told with it, cleaning came in between: the end is taken first.
        """
        for reads, slots in self.passed:
            inside = slots < self.high[reads]
            np.maximum.at(self.low, reads[inside], slots[inside] + 1)
            self.replaced.append((reads[~inside], slots[~inside]))

    @cached_property
    def replacing(self) -> tuple[Ints, Ints]:
        """Of each slot, which slot has replaced it before it may be gone (all slots: none can; -1:
        it may go); and when the first append was sent that has no known place, or may have left
        copies, and may have as well (ENDLESS: none).
        """
        slots = int(self.base[-1])
        spare = indices(self.live if self.copies else self.unseen())
        where, begun = self.a.segment[spare], self.a_begin[spare]
        segment = np.repeat(np.arange(self.batch.segments), np.diff(self.base))
        # What is there below an end that was told need not be a record: it replaces none.
        taken = indices(self.owner[:-1] == TAKEN)
        if self.batch.keys is None:
            key = np.zeros(slots, np.int64)
            mine, theirs, groups = segment, where, self.batch.segments
        else:
            value = _values(self.owner, self.a, self.e_slot, self.e_value)
            key = self.batch.keys.key[value]
            theirs_key = self.batch.keys.key[self.a.value[spare]]
            mine, theirs, groups = _join(segment, key, where, theirs_key)
        key[taken] = -1 - taken
        after = successors(segment, key)
        after[after < 0] = slots
        if self.batch.keys is not None:
            after[self.batch.keys.tombstone[value]] = -1
        after[taken] = -1
        sent = np.full(groups, ENDLESS)
        np.minimum.at(sent, theirs, begun)
        return np.append(after, -1), np.append(sent[mine], ENDLESS)

    @cached_property
    def vanishing(self) -> Ints:
        """Of each segment, when the first append was sent that has no known place and whose record
        may be gone (ENDLESS: none)."""
        spare = indices(self.live if self.copies else self.unseen())
        segment, value = self.a.segment, self.a.value
        if self.batch.keys is not None and not self.copies:
            live, key = indices(self.live), self.batch.keys.key[value]
            mine, all_of, groups = _join(segment[spare], key[spare], segment[live], key[live])
            others = np.bincount(all_of, minlength=groups)[mine] > 1
            spare = spare[others | self.batch.keys.tombstone[value[spare]]]
        sent = np.full(self.batch.segments, ENDLESS)
        np.minimum.at(sent, segment[spare], self.a_begin[spare])
        return sent

    def _worth(self, since: Ints, until: Ints) -> Ints:
        """1 if all the skipped were acknowledged and nobody read them: they may be lost. Else 0."""
        slots = int(self.base[-1])
        lost = self.owner[:-1] >= 0
        lost[self.e_slot] = False
        count: Ints = np.concatenate((_ZERO, np.cumsum(lost)))
        since, until = np.minimum(since, slots), np.minimum(until, slots)
        return np.where(count[until] - count[since] == until - since, 1, 0)

    def _clash(
        self,
        kind: str,
        level: int,
        first_of: str,
        first: Ints,
        second_of: str,
        second: Ints,
        *,
        at: Ints | None = None,
        offset: Ints | None = None,
        value: Ints | None = None,
    ) -> None:
        """Notes contradictions; `at`: of which records that were read."""
        if not len(second):
            return
        if at is not None:
            offset, value = self.e_offset[at], self.e_value[at]
        columns: Any = self.a if second_of == "append" else self.r
        segment = columns.segment[second]
        first = np.where(first < 0, -1, first)
        assert offset is not None and value is not None
        self.clashes.append(
            Clash(kind, level, segment, first_of, first, second_of, second, offset, value)
        )

    def unseen(self) -> Flags:
        """Appends without a known place whose record nobody has seen."""
        unseen = np.zeros(len(self.live), bool)
        unseen[self.unknown] = self.live[self.unknown] & ~self.matched[self.unknown]
        return unseen

    def records(self) -> Records:
        reads, slots = zip(*self.replaced, strict=True) if self.replaced else ((), ())
        return Records(
            batch=self.batch,
            gaps=self.gaps,
            at_least_once=self.at_least_once,
            base=self.base,
            owner=self.owner,
            begin=self.begin,
            end=self.end,
            offset=self.offsets,
            append_slot=self.a_slot,
            low=self.low,
            high=self.high,
            judged=self.judged,
            saw=self.saw,
            a_begin=self.a_begin,
            a_end=self.a_end,
            r_begin=self.r_begin,
            r_end=self.r_end,
            spare=self.live & (self.a.offset < 0) if self.at_least_once else self.unseen(),
            ambiguous=self.ambiguous,
            e_read=self.e_read,
            e_slot=self.e_slot,
            overfull=self.overfull,
            replaced=(np.concatenate((_NONE, *reads)), np.concatenate((_NONE, *slots))),
            ended=self.ended,
            ended_perhaps=self.ended_perhaps,
            clashes=tuple(self.clashes),
        )


# -- Arrays


def values_of(records: Records) -> Ints:
    """Of each slot the value that its record has; 0 where nobody knows it."""
    appends, reads = records.batch.appends, records.batch.reads
    seen = records.judged[np.repeat(np.arange(len(reads.segment)), np.diff(reads.splits))]
    return _values(records.owner, appends, records.e_slot, reads.values[seen])


def _values(owner: Ints, appends: Appends, e_slot: Ints, e_value: Ints) -> Ints:
    value = np.zeros(len(owner) - 1, np.int64)
    owned = indices(owner[:-1] >= 0)
    value[owned] = appends.value[owner[owned]]
    value[e_slot] = e_value
    return value


class _Spread:
    """The rows of a table, in order of their segments: how many each segment has."""

    def __init__(self, segment: Ints, segments: int) -> None:
        self.single = segments == 1
        if self.single:
            self.starts, self.counts = _ZERO, np.array([len(segment)])
        else:
            cuts = np.searchsorted(segment, np.arange(segments + 1))
            self.starts, self.counts = cuts[:-1], cuts[1:] - cuts[:-1]

    def spread(self, values: Ints) -> Ints | np.int64:
        """Of each row, the value of its segment."""
        if self.single:
            one: np.int64 = values[0]
            return one
        return np.repeat(values[: len(self.counts)], self.counts)

    def top(self, offsets: Ints, into: Ints) -> None:
        """into[s] = max(into[s], what follows the offsets of s)."""
        if not len(offsets):
            return
        some = indices(self.counts)
        most = np.maximum.reduceat(offsets, self.starts[some]) + 1
        into[some] = np.maximum(into[some], most)


def _rows(counts: Ints, full: Ints) -> Ints:
    """[2, 0, 1] -> [0, 0, 2]; full: where the counts are not 0."""
    if len(full) == int(counts.sum()):
        return full
    return np.repeat(full, counts.take(full))


def _join(
    segment: Ints, value: Ints, other_segment: Ints, other_value: Ints
) -> tuple[Ints, Ints, int]:
    """Groups of equal (segment, value): of the one side, of the other, and how many there are."""
    segments = np.concatenate((segment, other_segment))
    values = np.concatenate((value, other_value))
    order = np.lexsort((values, segments))
    new = np.zeros(len(order), bool)
    new[1:] = (values[order][1:] != values[order][:-1]) | (
        segments[order][1:] != segments[order][:-1]
    )
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new)
    return group[: len(segment)], group[len(segment) :], int(new.sum()) + 1
