"""In which order a log's records stand, by Jepsen's rule: the dense index of what anybody saw.

The order of a partition is made of all polls, whatever became of them (what a poller is given must
always be safe), and of appends that must have taken effect and know their offset. Offsets that
nobody touched have no place in it: they hold control records, or nothing. So two records are
neighbours when nothing known lies between them, and a distance is told in *places*, never in
offsets [docs/reference/log-checker.md, Places; jepsen.tests.kafka, version-orders].

Two deviations. A record that was read has the place of the offset where it was read, where Jepsen
goes by its value and so picks one of several when a value stands twice. Records below a start that
some client was told have no place: retention took them.

Places are numbered through the batch, in the order of segments and offsets; those of one segment
have no number between them that is another's, so that differences are distances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    DID,
    EARLIEST,
    FAILED,
    UNKNOWN,
    Flags,
    Ints,
    LogBatch,
    indices,
)
from kraftcheck.traces.checkers.compaction import Keys, successors

NOWHERE = -1
DENSE = 8
"""Tables may have so many entries for each row; beyond, sorting is cheaper."""


class VersionOrder(NamedTuple):
    """The places of all records of a batch, and which records are of one value.

    segment, offset: of each place. read, place, value: of each record in `reads.offsets`, the row
    of its read, its place (or NOWHERE), and the number of its value in its segment, the same for
    the same value. append_place, append_value: of each append the same; its place is NOWHERE also
    if its offset is not known and its value tells none.
    """

    segment: Ints
    offset: Ints
    read: Ints
    place: Ints
    value: Ints
    append_place: Ints
    append_value: Ints
    values: int
    """How many numbers there are."""
    writers: Ints
    """Of each value, how many appends may have written it."""
    tried: Ints
    """How many wrote it at all."""
    polled: Flags
    """Whether an answered read returned it."""
    replaced: Flags
    """Of each place, whether its record may be gone, since another has its key (compaction.py), be
    it a copy that nobody saw.
    """
    vanished: Flags
    """The same, and where keys are not known, whether any other record may stand behind it."""


def version_order(batch: LogBatch, *, at_least_once: bool = False) -> VersionOrder:
    """Return the version order of each segment: for each offset the values seen there.

    Args:
        batch: the segments.
        at_least_once: whether a retry may leave copies of a record.
    """
    appends, reads = batch.appends, batch.reads
    read = np.repeat(np.arange(len(reads.segment)), np.diff(reads.splits))
    segment = reads.segment.take(read)
    known = indices((appends.outcome == DID) & (appends.offset >= 0))
    start = _starts(batch)
    both = np.concatenate((segment, appends.segment.take(known)))
    offsets = np.concatenate((reads.offsets, appends.offset.take(known)))
    place = np.full(len(both), NOWHERE)
    kept = indices(offsets >= start.take(both))
    place[kept], first = numbered(both.take(kept), offsets.take(kept))
    values = np.concatenate((reads.values, appends.value))
    value, named = numbered(np.concatenate((segment, appends.segment)), values)
    found = len(segment)
    append_place = np.full(len(appends.segment), NOWHERE)
    append_place[known] = place[found:]
    order = VersionOrder(
        segment=both.take(kept.take(first)),
        offset=offsets.take(kept.take(first)),
        read=read,
        place=place[:found],
        value=value[:found],
        append_place=append_place,
        append_value=value[found:],
        values=len(named),
        writers=_count(value[found:][appends.outcome != FAILED], len(named)),
        tried=_count(value[found:], len(named)),
        polled=_count(value[:found][reads.outcome.take(read) == DID], len(named)) > 0,
        replaced=np.zeros(len(first), bool),
        vanished=np.zeros(len(first), bool),
    )
    _place_by_value(order, batch)
    if batch.keys is not None:
        _note_replaced(order, batch, batch.keys, at_least_once)
        order.vanished[:] = order.replaced
    elif batch.compacted:
        _note_followed(order, batch, at_least_once)
    return order


def _note_followed(order: VersionOrder, batch: LogBatch, copies: bool) -> None:
    """The newest record of a log is not cleaned away, whatever its key is."""
    order.vanished[:-1] = order.segment[1:] == order.segment[:-1]
    appends = batch.appends
    lost = indices(((order.append_place == NOWHERE) | copies) & (appends.outcome != FAILED))
    order.vanished[np.isin(order.segment, appends.segment[lost])] = True


def _note_replaced(order: VersionOrder, batch: LogBatch, keys: Keys, copies: bool) -> None:
    """Note appends of unknown place, which may have replaced any record with their key.

    So may a copy of any append.
    """
    appends = batch.appends
    value = np.zeros(len(order.segment), np.int64)
    placed, read = (indices(each != NOWHERE) for each in (order.append_place, order.place))
    value[order.append_place[placed]] = appends.value[placed]
    value[order.place[read]] = batch.reads.values[read]
    key, least = keys.key[value], int(keys.key.max(initial=0)) + 1
    order.replaced[successors(order.segment, key) >= 0] = True
    order.replaced[keys.tombstone[value]] = True
    lost = indices(((order.append_place == NOWHERE) | copies) & (appends.outcome != FAILED))
    anywhere = appends.segment[lost] * least + keys.key[appends.value[lost]]
    order.replaced[np.isin(order.segment * least + key, anywhere)] = True


def _count(numbers: Ints, values: int) -> Ints:
    return np.bincount(numbers, minlength=values)


def _starts(batch: LogBatch) -> Ints:
    """Of each segment, the furthest start of the log that anybody was told."""
    reads = batch.reads
    start = np.zeros(batch.segments, np.int64)
    told = indices((reads.kind == EARLIEST) & (reads.outcome == DID))
    np.maximum.at(start, reads.segment[told], reads.end[told])
    return start


def _place_by_value(order: VersionOrder, batch: LogBatch) -> None:
    """Place appends that know no offset where their value was read.

    The value must be theirs alone, and have stood at one place only.
    """
    rows = indices((batch.appends.offset == UNKNOWN) | (batch.appends.outcome != DID))
    if not len(rows) or not len(order.place):
        return
    lowest = np.full(order.values, len(order.segment))
    highest = np.full(order.values, NOWHERE)
    np.minimum.at(lowest, order.value, order.place)
    np.maximum.at(highest, order.value, order.place)
    value = order.append_value[rows]
    sure = (order.tried[value] == 1) & (lowest[value] == highest[value])
    order.append_place[rows[sure]] = lowest[value[sure]]


def numbered(segment: Ints, number: Ints) -> tuple[Ints, Ints]:
    """Numbers the distinct pairs from 0, in their order. Segments are not negative.

    (the number of each row, the first row of each number)
    """
    if not len(segment):
        return segment, segment
    top = int(segment.max()) + 1
    if int(number.max()) - int(number.min()) >= (1 << 62) // top:
        _, number = np.unique(number, return_inverse=True)
    # Of each segment from its least on: what segments have may be far apart.
    low = np.full(top, int(number.max()))
    np.minimum.at(low, segment, number)
    number = number - low[segment]
    width = int(number.max()) + 1
    keys = segment * width + number
    if width * top > DENSE * len(keys):
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        return numbers.reshape(-1), first
    rows = np.full(width * top, -1, np.int64)
    rows[keys[::-1]] = np.arange(len(keys))[::-1]
    there = rows >= 0
    rank = np.cumsum(there) - 1
    return rank[keys], rows[there]
