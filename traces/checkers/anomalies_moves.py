"""Anomalies of movement: consumers and producers that skip records, or do not go forward.

Two polls, or two appends, that follow each other are compared by their distance in the version
order: 1 is as it should be, more skips something, less stands still or goes back. Where a place is
not known the distance counts as 1. Definitions: jepsen.tests.kafka (docs/reference/log-checker.md,
Places).

    int-...   within one operation: between records of a fetch, or of its fetches
    others    between a process' operations; a consumer's only while it keeps the partition, and
              appends of one mark as well, although they overlap

A fetch that says where it begins goes where it was sent: what it skips from there on is the log
checker's to say. Fetches of one operation are compared as different operations when the consumer
subscribes, since a rebalance may lie between.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import (
    BY_MARK,
    DID,
    FAILED,
    FETCH,
    Flags,
    Ints,
    LogBatch,
    by_process,
    indices,
)
from kraftcheck.traces.checkers.findings import Finding, finding
from kraftcheck.traces.checkers.version_order import NOWHERE, VersionOrder
from kraftcheck.traces.rows import begins

_NONE = np.zeros(0, np.int64)


def move_anomalies(batch: LogBatch, order: VersionOrder, subscribed: bool) -> Iterator[Finding]:
    inside, between = _polls(batch, order, subscribed)
    yield from _named(order, inside, "int-poll-skip", "int-nonmonotonic-poll")
    yield from _named(order, between, "poll-skip", "nonmonotonic-poll")
    inside, between = _sends(batch, order)
    yield from _named(order, inside, "int-send-skip", "int-nonmonotonic-send")
    yield from _named(order, between, None, "nonmonotonic-send")


class _Moves(NamedTuple):
    """From one place to another, and the operations at both."""

    begin: Ints
    end: Ints
    first: Ints
    second: Ints


def _named(order: VersionOrder, moves: _Moves, over: str | None, back: str) -> Iterator[Finding]:
    """The moves that pass over something, and those that do not go forward."""
    known = (moves.begin != NOWHERE) & (moves.end != NOWHERE)
    distance = moves.end - moves.begin
    skipped = known & (distance > 1)
    if order.replaced.any():
        # Of the places up to each, how many hold records that no other replaced.
        kept = np.concatenate(([0], np.cumsum(~order.replaced)))
        skipped[skipped] = kept[moves.end[skipped]] > kept[moves.begin[skipped] + 1]
    for name, wrong in ((over, skipped), (back, known & (distance < 1))):
        if name is None:
            continue
        rows = indices(wrong)
        yield finding(
            name,
            order.segment[moves.end[rows]],
            moves.second[rows],
            first=moves.first[rows],
            offset=order.offset[moves.end[rows]],
            other=order.offset[moves.begin[rows]],
        )


def _joined(*moves: _Moves) -> _Moves:
    return _Moves(*(np.concatenate(columns) for columns in zip(*moves, strict=True)))


# -- Polls


def _polls(batch: LogBatch, order: VersionOrder, subscribed: bool) -> tuple[_Moves, _Moves]:
    reads = batch.reads
    at = indices(order.read[1:] == order.read[:-1])
    operation = reads.operation[order.read[at]]
    inside = _Moves(order.place[at], order.place[at + 1], operation, operation)
    full = reads.splits[1:] > reads.splits[:-1]
    rows = indices((reads.kind == FETCH) & full)
    if not (reads.start[rows] < 0).any():
        return inside, _Moves(_NONE, _NONE, _NONE, _NONE)
    rows = rows[np.lexsort((reads.operation[rows], reads.session[rows], reads.segment[rows]))]
    follows = ~begins(reads.segment[rows], reads.session[rows])
    goes_on = reads.start[rows] < 0
    with_last = follows & ~begins(reads.group[rows]) & (reads.group[rows] >= 0)
    # Only a poll that was answered moves its consumer on.
    before = _last(rows, reads.outcome[rows] == DID, follows)
    last = np.concatenate((rows[:1], rows[:-1]))
    of_one = _fetch_moves(batch, order, last[with_last & goes_on], rows[with_last & goes_on])
    apart = indices(~with_last & goes_on & (before >= 0))
    between = _fetch_moves(batch, order, before[apart], rows[apart])
    if subscribed:
        return inside, _joined(between, of_one)
    return _joined(inside, of_one), between


def _fetch_moves(batch: LogBatch, order: VersionOrder, earlier: Ints, later: Ints) -> _Moves:
    """From the last record of each earlier fetch to the first of the later one."""
    reads = batch.reads
    return _Moves(
        order.place[reads.splits[earlier + 1] - 1],
        order.place[reads.splits[later]],
        reads.operation[earlier],
        reads.operation[later],
    )


def _last(rows: Ints, counts: Flags, follows: Flags) -> Ints:
    """Of each row, the last one before it in its run that counts, or -1."""
    at = np.arange(len(rows))
    begin = np.maximum.accumulate(np.where(follows, 0, at))
    before = np.full(len(rows), -1)
    before[1:] = np.maximum.accumulate(np.where(counts, at, -1))[:-1]
    return np.where(before >= begin, rows[np.maximum(before, 0)], -1)


# -- Sends


def _sends(batch: LogBatch, order: VersionOrder) -> tuple[_Moves, _Moves]:
    appends, process = batch.appends, batch.appends.process
    ordered = by_process(appends.segment, process, appends.operation)
    inside = _send_moves(batch, order, ordered, process, together=True)
    kept = appends.outcome != FAILED
    if appends.producer is not None:
        process = appends.producer
        ordered = by_process(appends.segment, process, appends.operation)
        # One of unknown place hides no other from those beside it.
        kept &= (process > BY_MARK) | (order.append_place != NOWHERE)
    return inside, _send_moves(batch, order, ordered[kept[ordered]], process, together=False)


def _send_moves(
    batch: LogBatch, order: VersionOrder, rows: Ints, process: Ints, *, together: bool
) -> _Moves:
    """Between neighbours of one process (of each append), within one operation or not."""
    appends = batch.appends
    one, two = rows[:-1], rows[1:]
    same = (appends.group[one] == appends.group[two]) & (appends.group[two] >= 0)
    ours = (process[one] == process[two]) & (appends.segment[one] == appends.segment[two])
    kept = ours & (same if together else ~same)
    one, two = one[kept], two[kept]
    return _Moves(
        order.append_place[one],
        order.append_place[two],
        appends.operation[one],
        appends.operation[two],
    )
