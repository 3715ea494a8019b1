"""Which record stands where, and who appended it: P1 of docs/reference/log-checker.md.

Each offset gets a slot and each slot an owner, by what was acknowledged, or by the value that was
read there. What needs no clock to be wrong is noted: two records at one offset, values that nobody
sent.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    DID,
    FAILED,
    Appends,
    Flags,
    Ints,
    LogBatch,
    Reads,
    indices,
)
from kraftcheck.traces.checkers.segments import (
    BEFORE,
    ENDLESS,
    NONE,
    ZERO,
    Spread,
    join,
    rows_of,
    shifted_times,
)
from kraftcheck.traces.rows import begins

TAKEN: Final = -3
"""The owner of a slot that holds whatever was there below an end that was told."""


class Clash(NamedTuple):
    """Contradictions of one kind that need no clock, a row for each.

    first, second: rows of `first_of` ("append" or "read") and `second_of`; first may be -1.
    """

    kind: str
    """Jepsen's name where there is one."""
    level: int
    """The strongest level that a segment with one can have."""
    segment: Ints
    first_of: str
    first: Ints
    second_of: str
    second: Ints
    offset: Ints
    """where."""
    value: Ints
    """What was read there, or -1."""


class Owners:
    """The first steps of the preparation, in their order; each leaves its columns behind."""

    def __init__(self, batch: LogBatch, *, at_least_once: bool, gaps: bool) -> None:
        self.batch, self.at_least_once, self.gaps = batch, at_least_once, gaps
        self.a: Appends = batch.appends
        self.r: Reads = batch.reads
        self.a_begin, self.a_end, self.r_begin, self.r_end = shifted_times(batch)
        self.judged: Flags = self.r.outcome == DID
        self.live: Flags = self.a.outcome != FAILED
        self.of_appends = Spread(self.a.segment, batch.segments)
        self.of_reads = Spread(self.r.segment, batch.segments)
        self._told_records()
        self._told_positions()
        self.ambiguous = np.zeros(batch.segments, bool)
        self.any_taken = False
        self.misplaced: list[Ints] = []
        self.clashes: list[Clash] = []

    def _told_records(self) -> None:
        """The records that judged reads returned, one after the other: all or some of the batch."""
        r = self.r
        self.counts = r.splits[1:] - r.splits[:-1]
        self.e_offset, self.e_value = r.offsets, r.values
        if np.count_nonzero(self.judged) < len(self.judged):
            every = rows_of(self.counts, indices(self.counts > 0))
            seen = indices(self.judged[every])
            self.e_offset, self.e_value = self.e_offset[seen], self.e_value[seen]
            self.counts = np.where(self.judged, self.counts, 0)
        self.some: Flags = self.counts > 0
        self.full = indices(self.some)
        self.e_read = rows_of(self.counts, self.full)
        single = self.batch.segments == 1
        self.e_segment: Ints = (
            np.zeros(len(self.e_read), np.int64) if single else r.segment.take(self.e_read)
        )
        self.of_records = Spread(self.e_segment, self.batch.segments)

    def _told_positions(self) -> None:
        """Which reads left their consumer further than they had shown it, and where that ends."""
        r = self.r
        self.went_on, self.shown_to = NONE, NONE
        if r.to is None:
            return
        reached = r.start.copy()
        ends = np.cumsum(self.counts)[self.full]
        reached[self.full] = self.e_offset[ends - 1] + 1
        self.went_on = indices(self.judged & (r.to > reached) & (reached >= 0))
        self.shown_to = reached[self.went_on]

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
        self.base = np.concatenate((ZERO, span.cumsum()))
        self.span = span
        self.offsets = np.arange(self.base[-1] + 1)
        if batch.segments > 1:
            self.offsets -= np.repeat(self.base, np.append(span, 1))
        if self.any_sparse:
            inside = np.repeat(np.append(self.sparse, False), np.append(span, 1))
            self.offsets[inside] = self.kept[:, 1]
        self.a_slot = self._slots_of(a.segment, a.offset, self.of_appends)
        self.e_slot = self._slots_of(self.e_segment, self.e_offset, self.of_records)

    def _slots_of(self, segment: Ints, offset: Ints, rows: Spread) -> Ints:
        """The slots of offsets of all rows of a table; of an unknown offset, some slot."""
        if self.any_sparse:
            return self.slot(segment, offset)
        return offset + rows.spread(self.base)

    def _gather_keys(self, span: Ints, told: Ints) -> None:
        """Sparse segments: the offsets that anything mentions, in order."""
        a, r = self.a, self.r
        begun = self.judged & (r.start >= 0)
        taken = told[r.end[told] > 0] if self.gaps else NONE
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
        self.kept = pairs[begins(*pairs.T)]
        self.distinct, rank = np.unique(self.kept[:, 1], return_inverse=True)
        self.keys = self.kept[:, 0] * (len(self.distinct) + 1) + rank.reshape(-1)
        counts = np.bincount(self.kept[:, 0], minlength=self.batch.segments)
        span[self.sparse] = counts[self.sparse]
        self.key_base = np.concatenate((ZERO, np.cumsum(counts)))

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
        first = begins(slot)
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
        mine, theirs, groups = join(segment, value, self.a.segment[rows], self.a.value[rows])
        candidates = np.bincount(theirs, minlength=groups)[mine]
        wanted = np.bincount(mine, minlength=groups)[mine]
        known = indices(candidates > 0)
        if len(known):
            self._take(known, slot, segment, mine, theirs, rows, groups, candidates, wanted)
        lost = indices(candidates == 0)
        if len(lost):
            self._disown(at[lost])

    def _doubled(self, at: Ints) -> None:
        """Values that stand at more offsets than they were sent.

        `at`: all records that were read where no append of their value was acknowledged.
        """
        if self.at_least_once or not len(at):
            return
        asked = np.zeros(max(self.a.value.max(initial=0), self.e_value.max(initial=0)) + 1, bool)
        asked[self.e_value[at]] = True
        live = indices(self.live & asked[self.a.value])
        mine, theirs, groups = join(
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
        """Aborted reads and phantoms among records that were read.

        Of each, an append of its value that did not fail, and one that did; -1 where there is none.
        """
        segment, value = self.e_segment[at], self.e_value[at]
        mine, theirs, groups = join(segment, value, self.a.segment, self.a.value)
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
        """Number only the slots that something may fill.

        These are records, and the last offset below each end that was told, whatever is there: the
        log does not end before it again. What nobody appended or read has no slot.
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
        rank = np.concatenate((ZERO, np.cumsum(known)))
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

    # -- What is noted

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
