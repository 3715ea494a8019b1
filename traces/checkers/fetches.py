"""What each fetch proves: P2 and P3 of docs/reference/log-checker.md.

A fetch begins with the first record from where it asked on, and record follows record in it; what
it passes over is there all the same, unless the log is compacted. So every read becomes two
numbers: all records below its slot `low` are there, the one at its slot `high` is not.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kraftcheck.traces.checkers.columns import EARLIEST, FETCH, Appends, Ints, LogBatch, indices
from kraftcheck.traces.checkers.compaction import successors
from kraftcheck.traces.checkers.owners import TAKEN, Owners
from kraftcheck.traces.checkers.segments import ENDLESS, NONE, ZERO, join


class Fetches(Owners):
    """The last step of the preparation, over the owners that the first ones have found."""

    def __init__(self, batch: LogBatch, *, at_least_once: bool, gaps: bool, copies: bool) -> None:
        super().__init__(batch, at_least_once=at_least_once, gaps=gaps)
        self.copies = copies
        self.replaced: list[tuple[Ints, Ints]] = []
        self.passed: list[tuple[Ints, Ints]] = []
        self.ended = (NONE, NONE, NONE)
        self.ended_perhaps = (NONE, NONE, NONE)

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
        self._begins()
        self._stands()
        asked = self.judged & (r.kind == FETCH) & ~self.some
        empty = asked & (r.start >= 0)
        empty[self.went_on] = False  # There may be more to read from where it went on to.
        empty = indices(empty)
        if len(empty):
            self._found_nothing(empty)
        told = indices(self.judged & (r.end >= 0))
        self.saw = full
        if len(told):
            self._told(told)
        self._replaced_before()
        if len(told) or len(self.went_on):
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

    def _begins(self) -> None:
        """A fetch begins with the first record from where it asked on, or there is none."""
        r, full = self.r, self.full
        asked = r.start.take(full)
        given = self.e_offset.take(self.since)
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

    def _stands(self) -> None:
        """Check where a fetch left its consumer.

        The consumer was shown all records before that place, and they were there. Where every
        offset has a record, none may be passed over.
        """
        rows = self.went_on
        if self.r.to is None or not len(rows):
            return
        since = self.near(self.r.segment[rows], self.shown_to)
        until = self.near(self.r.segment[rows], self.r.to[rows])
        over = indices(since < until)
        if len(over):
            self._skipped("poll-skip", rows[over], since[over], until[over], behind=False)
        if not (self.gaps or self.batch.compacted):
            bare = rows[since == until]
            none = np.full(len(bare), -1)
            columns = ("append", none, "read", bare)
            self._clash("poll-skip", 1, *columns, offset=self.r.to[bare] - 1, value=none)
        self.low[rows] = np.maximum(self.low[rows], until)

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

    def _skipped(
        self, kind: str, reads: Ints, since: Ints, until: Ints, *, behind: bool = True
    ) -> None:
        """Fetches that passed over the records in slots [since, until).

        behind: they returned a record that stands behind these.
        """
        if self.any_taken:
            records = np.concatenate((ZERO, np.cumsum(self.owner[:-1] != TAKEN)))
            some = records[until] > records[since]
            reads, since, until = reads[some], since[some], until[some]
        if self.batch.compacted:
            # (Keys that nobody knows: what was returned stands behind, and may have replaced it.)
            if self.batch.keys is None and behind:
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
            return NONE, NONE, NONE
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
        """Fetches without a record: none stands from where they asked on.

        Of a compacted topic the first may be gone; then they tell no more, since a fetch may end
        with what was cleaned.
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
        """Who passed over records was over only after what replaced them was there.

        If that stands at or past the end that was told with it, cleaning came in between: the end
        is taken first.
        """
        for reads, slots in self.passed:
            inside = slots < self.high[reads]
            np.maximum.at(self.low, reads[inside], slots[inside] + 1)
            self.replaced.append((reads[~inside], slots[~inside]))

    @cached_property
    def replacing(self) -> tuple[Ints, Ints]:
        """Give the slot that has replaced each slot before it may be gone.

        All slots: none can have; -1: it may be gone. Also give when the first append was sent that
        has no known place, or may have left copies, and may have replaced it as well (ENDLESS:
        none).
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
            value = values_at(self.owner, self.a, self.e_slot, self.e_value)
            key = self.batch.keys.key[value]
            theirs_key = self.batch.keys.key[self.a.value[spare]]
            mine, theirs, groups = join(segment, key, where, theirs_key)
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
        """Give when the first append of each segment was sent that may have vanished.

        Such an append has no known place, and its record may be gone (ENDLESS: there is none).
        """
        spare = indices(self.live if self.copies else self.unseen())
        segment, value = self.a.segment, self.a.value
        if self.batch.keys is not None and not self.copies:
            live, key = indices(self.live), self.batch.keys.key[value]
            mine, all_of, groups = join(segment[spare], key[spare], segment[live], key[live])
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
        count: Ints = np.concatenate((ZERO, np.cumsum(lost)))
        since, until = np.minimum(since, slots), np.minimum(until, slots)
        return np.where(count[until] - count[since] == until - since, 1, 0)


def values_at(owner: Ints, appends: Appends, e_slot: Ints, e_value: Ints) -> Ints:
    value = np.zeros(len(owner) - 1, np.int64)
    owned = indices(owner[:-1] >= 0)
    value[owned] = appends.value[owner[owned]]
    value[e_slot] = e_value
    return value
