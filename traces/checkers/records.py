"""What a batch of histories says of its logs: which record stands where, and who appended it.

This is the preparation of docs/reference/log-checker.md: P1 gives each offset an owner, P2 looks
into each fetch, and by P3 every read becomes two numbers. A record's place is its *slot*: segments
follow each other, within one the records stand in the order of their offsets. A read proves that
all records below its slot `low` are there, and that the record at its slot `high` is not. Whose is
which slot is found in owners.py, what a fetch proves in fetches.py; this is what comes of them.

Times are doubled and shifted so that one order serves everything: an invocation at t is 2t, a
completion 2t + 1 (operations that touch are concurrent), and every moment of a segment comes after
all those of the segment before. So one running maximum over all slots is one for each segment.

Without `gaps` every offset from 0 on has a record of this history. With `gaps`, an offset that
nobody appended or read is explained (control records, compaction, writers that were not recorded)
and gets no slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import Flags, Ints, LogBatch, check_batch
from kraftcheck.traces.checkers.fetches import Fetches, values_at
from kraftcheck.traces.checkers.owners import Clash


class Records(NamedTuple):
    """The logs of a batch.

    Arrays of slots have one entry more than there are slots.

    begin, end: its window (BEFORE, ENDLESS: a hole). low, high: of each read, see above (high =
    slots: none). e_read, e_slot: of each record that was read.
    """

    batch: LogBatch
    gaps: bool
    at_least_once: bool
    base: Ints
    """First slot of each segment, and the number of slots."""
    owner: Ints
    """Of each slot, the row of the append that it is known to come from, or -1 (nobody), -2 (nobody
    that sent it) or TAKEN.
    """
    begin: Ints
    end: Ints
    offset: Ints
    """Of each slot."""
    append_slot: Ints
    """Of each append, its record's slot or -1."""
    low: Ints
    high: Ints
    judged: Flags
    """Reads that were answered."""
    saw: Ints
    """Rows of reads that prove a record there, in no order. a_begin ...: shifted times of all rows.
    """
    a_begin: Ints
    a_end: Ints
    r_begin: Ints
    r_end: Ints
    spare: Flags
    """Appends whose record was not seen (at least once, whose offset was not told, the failed ones
    among them: what was seen may be a copy).
    """
    ambiguous: Flags
    """Segments in which owners had to be guessed; windows there are as wide as any guess makes
    them.
    """
    e_read: Ints
    e_slot: Ints
    overfull: Flags
    """Segments with more holes than appends could fill."""
    replaced: tuple[Ints, Ints]
    """(reads, slots): a read passed over a record of a compacted topic that this slot's has
    replaced, or else an append whose place is not known (`slots`: only that can have); segments in
    which that matters are open.
    """
    ended: tuple[Ints, Ints, Ints]
    """(reads, slots, slots): a read found nothing; its log ended at the first of these slots, or
    the second's record has replaced that one's.
    """
    ended_perhaps: tuple[Ints, Ints, Ints]
    """The same, but for an append whose place is not known, which may have replaced it instead
    (second: `slots` if no other can have).
    """
    clashes: tuple[Clash, ...]

    @property
    def slots(self) -> int:
        return int(self.base[-1])

    def segment_of(self, slots: Ints) -> Ints:
        return np.searchsorted(self.base, slots, side="right") - 1


def records_of(
    batch: LogBatch, *, at_least_once: bool = False, gaps: bool = False, copies: bool = False
) -> Records:
    """Prepare the records of a batch: everything that needs no clock.

    Args:
        batch: the segments.
        at_least_once: whether a retry may leave copies of a record.
        gaps: whether offsets may have no record of this history.
        copies: whether an unseen copy may have replaced a record of a compacted topic.

    Raises:
        ValueError: the batch is malformed.
    """
    check_batch(batch)
    work = Fetches(batch, at_least_once=at_least_once, gaps=gaps, copies=copies)
    work.place()
    work.own()
    work.adopt()
    if gaps:
        work.close_gaps()
    work.look_into_fetches()
    none = np.zeros(0, np.int64)
    reads, slots = zip(*work.replaced, strict=True) if work.replaced else ((), ())
    return Records(
        batch=work.batch,
        gaps=work.gaps,
        at_least_once=work.at_least_once,
        base=work.base,
        owner=work.owner,
        begin=work.begin,
        end=work.end,
        offset=work.offsets,
        append_slot=work.a_slot,
        low=work.low,
        high=work.high,
        judged=work.judged,
        saw=work.saw,
        a_begin=work.a_begin,
        a_end=work.a_end,
        r_begin=work.r_begin,
        r_end=work.r_end,
        spare=work.a.offset < 0 if work.at_least_once else work.unseen(),
        ambiguous=work.ambiguous,
        e_read=work.e_read,
        e_slot=work.e_slot,
        overfull=work.overfull,
        replaced=(np.concatenate((none, *reads)), np.concatenate((none, *slots))),
        ended=work.ended,
        ended_perhaps=work.ended_perhaps,
        clashes=tuple(work.clashes),
    )


def values_of(records: Records) -> Ints:
    """Of each slot the value that its record has; 0 where nobody knows it."""
    appends, reads = records.batch.appends, records.batch.reads
    seen = records.judged[np.repeat(np.arange(len(reads.segment)), np.diff(reads.splits))]
    return values_at(records.owner, appends, records.e_slot, reads.values[seen])
