"""Anomalies of single records: doubled, disputed, lost, never seen, or seen too early.

Definitions: jepsen.tests.kafka (docs/reference/log-checker.md, Places). Two are narrower than
Jepsen's, for histories that Jepsen does not make:

* A value may be appended more than once on purpose. It is a `duplicate` when more offsets hold it
  than appends may have written it; G1a and precommitted-read ask that it was written once.
* Consumers may say where they read. A fetch that asked from an offset passed over nothing before
  it, so that a write is lost only from what some fetch went through. Polls without a position went
  through everything up to the last record that they returned (by its first appearance).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kraftcheck.traces.checkers.columns import (
    DID,
    FAILED,
    FETCH,
    NEVER,
    Ints,
    LogBatch,
    indices,
)
from kraftcheck.traces.checkers.findings import NOBODY, Finding, finding
from kraftcheck.traces.checkers.version_order import NOWHERE, VersionOrder
from kraftcheck.traces.rows import begins


def value_anomalies(batch: LogBatch, order: VersionOrder) -> Iterator[Finding]:
    entries = _Entries(batch, order)
    yield _disputed(order, entries)
    yield _doubled(order, entries)
    yield _lost(batch, order)
    yield from _unseen(batch, order)
    yield _aborted(batch, order)
    yield _precommitted(batch, order)


class _Entries:
    """Everything that puts a value at a place: records that were read, and acknowledged appends."""

    def __init__(self, batch: LogBatch, order: VersionOrder) -> None:
        appends, reads = batch.appends, batch.reads
        acked = indices((appends.outcome == DID) & (appends.offset >= 0))
        place = np.concatenate((order.append_place[acked], order.place))
        operation = np.concatenate((appends.operation[acked], reads.operation[order.read]))
        named = np.concatenate((order.append_value[acked], order.value))
        number = np.concatenate((appends.value[acked], reads.values))
        kept = place != NOWHERE
        self.place, self.operation = place[kept], operation[kept]
        self.named, self.number = named[kept], number[kept]

    def pairs(self, rows: Ints, major: Ints, minor: Ints) -> tuple[Ints, Ints, Ints]:
        """Of some entries the distinct pairs: (each major's first, its second, how many it has)."""
        order = rows[np.lexsort((rows, minor[rows], major[rows]))]
        kept = order[begins(major[order], minor[order])]
        at = indices(begins(major[kept]))
        size = np.diff(np.append(at, len(kept)))
        return kept[at], kept[np.minimum(at + 1, len(kept) - 1)], size


def _clashing(major: Ints, minor: Ints, majors: int) -> Ints:
    """The entries whose major has several minors."""
    one = np.zeros(majors, np.int64)
    one[major] = minor
    several = np.zeros(majors, bool)
    several[major[one[major] != minor]] = True
    return indices(several[major])


def _disputed(order: VersionOrder, entries: _Entries) -> Finding:
    """inconsistent-offsets: an offset has two values."""
    rows = _clashing(entries.place, entries.named, len(order.segment))
    one, two, _ = entries.pairs(rows, entries.place, entries.named)
    place = entries.place[one]
    return finding(
        "inconsistent-offsets",
        order.segment[place],
        entries.operation[two],
        first=entries.operation[one],
        offset=order.offset[place],
        other=entries.number[two],
        value=entries.number[one],
    )


def _doubled(order: VersionOrder, entries: _Entries) -> Finding:
    """duplicate: a value stands at more offsets than were written."""
    rows = _clashing(entries.named, entries.place, order.values)
    one, two, size = entries.pairs(rows, entries.named, entries.place)
    copied = size > np.maximum(order.writers[entries.named[one]], 1)
    one, two = one[copied], two[copied]
    return finding(
        "duplicate",
        order.segment[entries.place[one]],
        entries.operation[two],
        first=entries.operation[one],
        offset=order.offset[entries.place[one]],
        other=order.offset[entries.place[two]],
        value=entries.number[one],
    )


# -- Lost and never seen


def _lost(batch: LogBatch, order: VersionOrder) -> Finding:
    """lost-write: acknowledged and never read, though consumers went through where it stands."""
    appends = batch.appends
    rows = indices(
        (appends.outcome == DID)
        & (order.append_place != NOWHERE)
        & ~order.polled[order.append_value]
    )
    rows = rows[~order.replaced[order.append_place[rows]]]
    if len(rows):
        last = np.full(order.values, NOWHERE)
        np.maximum.at(last, order.append_value[rows], order.append_place[rows])
        seen = indices((last != NOWHERE)[order.value])
        np.maximum.at(last, order.value[seen], order.place[seen])
        rows = rows[last[order.append_value[rows]] == order.append_place[rows]]
    through = _Passages(batch, order)
    reader = through.over(order.append_place[rows])
    rows, reader = rows[reader != NOBODY], reader[reader != NOBODY]
    return finding(
        "lost-write",
        appends.segment[rows],
        batch.reads.operation[reader],
        first=appends.operation[rows],
        offset=appends.offset[rows],
        value=appends.value[rows],
    )


class _Passages:
    """What answered fetches went through: of each, from which place to which."""

    def __init__(self, batch: LogBatch, order: VersionOrder) -> None:
        reads = batch.reads
        first = np.full(order.values, len(order.segment))
        there = order.place != NOWHERE
        np.minimum.at(first, order.value[there], order.place[there])
        placed = indices(order.append_place != NOWHERE)
        np.minimum.at(first, order.append_value[placed], order.append_place[placed])
        there &= (reads.outcome == DID)[order.read]
        end = np.full(len(reads.segment), NOWHERE)
        np.maximum.at(end, order.read[there], first[order.value[there]])
        rows = indices(end != NOWHERE)
        begin = np.searchsorted(order.segment, reads.segment[rows])
        asked = indices(reads.start[rows] >= 0)
        begin[asked] = self._at(order, reads.segment[rows[asked]], reads.start[rows[asked]])
        ordered = np.lexsort((end[rows], begin))
        self.begin, self.read = begin[ordered], rows[ordered]
        self.end = np.maximum.accumulate(end[self.read])
        # Of each, the read that reached so far.
        at = np.arange(len(ordered))
        self.reaches = self.read[np.maximum.accumulate(np.where(begins(self.end), at, 0))]

    @staticmethod
    def _at(order: VersionOrder, segment: Ints, offset: Ints) -> Ints:
        """The first place of a segment at or past an offset."""
        top = int(max(order.offset.max(initial=0), offset.max(initial=0))) + 1
        if top * (int(order.segment.max(initial=0)) + 1) < 1 << 62:
            keys = order.segment * top + order.offset
            return np.searchsorted(keys, segment * top + offset)
        offsets, rank = np.unique(order.offset, return_inverse=True)
        keys = order.segment * (len(offsets) + 1) + rank.reshape(-1)
        return np.searchsorted(
            keys, segment * (len(offsets) + 1) + np.searchsorted(offsets, offset)
        )

    def over(self, place: Ints) -> Ints:
        """Of each place, the row of a read that went through it, or NOBODY."""
        at = np.searchsorted(self.begin, place, side="right") - 1
        found = np.full(len(place), NOBODY)
        some = indices(at >= 0)
        passed = some[self.end[at[some]] >= place[some]]
        found[passed] = self.reaches[at[passed]]
        return found


def _unseen(batch: LogBatch, order: VersionOrder) -> Iterator[Finding]:
    """Find acknowledged records that nobody ever read: unseen, or unread.

    Unread: the record stands before where every reader began, so a reader that read to the end need
    not have seen it.
    """
    appends = batch.appends
    kept = (appends.offset < 0) | (order.append_place != NOWHERE)
    rows = indices((appends.outcome == DID) & kept & ~order.polled[order.append_value])
    # Of a compacted topic, what is not known to have a place may have been replaced as well.
    gone = np.append(order.vanished, batch.compacted)
    rows = rows[~gone[order.append_place[rows]]]
    before = np.maximum(appends.offset[rows], 0) < _begun(batch)[appends.segment[rows]]
    for name, some in (("unseen", rows[~before]), ("unread", rows[before])):
        yield finding(
            name,
            appends.segment[some],
            appends.operation[some],
            offset=appends.offset[some],
            value=appends.value[some],
        )


def _begun(batch: LogBatch) -> Ints:
    """Give the first offset of each segment from which a fetch is known to ask.

    It is 0 where a fetch does not say, or where nobody asked.
    """
    reads = batch.reads
    begun = np.full(batch.segments, NEVER)
    rows = indices((reads.kind == FETCH) & (reads.outcome == DID))
    np.minimum.at(begun, reads.segment[rows], np.maximum(reads.start[rows], 0))
    begun[begun == NEVER] = 0
    return begun


# -- Seen too early


def _aborted(batch: LogBatch, order: VersionOrder) -> Finding:
    """G1a: a record was read whose append had failed."""
    appends, reads = batch.appends, batch.reads
    failed = indices(appends.outcome == FAILED)
    writer = np.full(order.values, NOBODY)
    writer[order.append_value[failed][::-1]] = failed[::-1]
    guilty = (writer != NOBODY) & (order.writers == 0)
    rows = indices(guilty[order.value] & (reads.outcome == DID)[order.read])
    culprit = writer[order.value[rows]]
    return _misread("G1a", batch, order, rows, culprit)


def _precommitted(batch: LogBatch, order: VersionOrder) -> Finding:
    """precommitted-read: an operation of several parts reads a record that it appends itself."""
    appends, reads = batch.appends, batch.reads
    writer = np.full(order.values, NOBODY)
    writer[order.append_value] = np.arange(len(order.append_value))
    known = (writer != NOBODY) & (order.tried == 1)
    rows = indices(known[order.value])
    culprit = writer[order.value[rows]]
    group = reads.group[order.read[rows]]
    same = (group >= 0) & (group == appends.group[culprit])
    return _misread("precommitted-read", batch, order, rows[same], culprit[same])


def _misread(name: str, batch: LogBatch, order: VersionOrder, rows: Ints, culprit: Ints) -> Finding:
    """Records that were read and should not have been, with the append of each."""
    reads = batch.reads
    return finding(
        name,
        reads.segment[order.read[rows]],
        reads.operation[order.read[rows]],
        first=batch.appends.operation[culprit],
        offset=reads.offsets[rows],
        value=reads.values[rows],
    )
