"""Each process by itself: what it knows of a log only grows [Terry et al., session guarantees].

By the records that a process read, and by its own appends, it knows how long the log is at least.
An operation that needs a shorter log than that has no place in any order that keeps the process'
own: it did not read its writes, or read less than before. Parts of one operation of the client have
no order among themselves: a transaction need not see its own records.

The end that comes along with a fetch is no knowledge of this kind. It bounds that fetch, but after
a clean election the next one may be lower, until the new leader knows what is committed; what
`latest` tells may not go back (KIP-207).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import FAILED, LATEST, Ints, by_process
from kraftcheck.traces.checkers.records import Records
from kraftcheck.traces.rows import begins


class Sessions(NamedTuple):
    """Operations that contradict what their process knew.

    segment, victim, culprit: the operations that need a shorter log than their process knew, and
    the operation that it knew that from (the same one, where a read contradicts itself).
    """

    lowest: Ints
    """Of each append, the first slot that its process' own order leaves to it."""
    segment: Ints
    victim: Ints
    culprit: Ints


def sessions(records: Records) -> Sessions:
    batch = records.batch
    appends, reads = batch.appends, batch.reads
    a_rows = np.flatnonzero(appends.outcome != FAILED)
    r_rows = np.flatnonzero(records.judged)
    placed = records.append_slot[a_rows]
    base = records.base[appends.segment[a_rows]]
    segment = np.concatenate((appends.segment[a_rows], reads.segment[r_rows]))
    process = np.concatenate((appends.process[a_rows], reads.process[r_rows]))
    invoked = np.concatenate((appends.invoked[a_rows], reads.invoked[r_rows]))
    operation = np.concatenate((appends.operation[a_rows], reads.operation[r_rows]))
    group = np.concatenate((appends.group[a_rows], reads.group[r_rows]))
    gains = np.concatenate((np.where(placed >= 0, placed + 1, base), _known(records)[r_rows]))
    allows = np.concatenate((np.where(placed >= 0, placed, records.slots), records.high[r_rows]))
    order = in_order(segment, process, invoked, operation)
    before, source = known_before(order, segment, process, group, gains)
    needs, culprit = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    needs[order] = before
    culprit[order] = operation[order[source]]
    # A read that proves more than it allows contradicts itself.
    own = np.concatenate((np.zeros(len(a_rows), np.int64), records.low[r_rows]))
    wrong = np.flatnonzero(np.maximum(needs, own) > allows)
    wrong = wrong[np.argsort(segment[wrong], kind="stable")]
    alone = needs[wrong] <= allows[wrong]
    lowest = np.zeros(len(appends.segment), np.int64)
    lowest[a_rows] = np.maximum(needs[: len(a_rows)], 0)
    victim = operation[wrong]
    return Sessions(lowest, segment[wrong], victim, np.where(alone, victim, culprit[wrong]))


def in_order(segment: Ints, process: Ints, invoked: Ints, operation: Ints) -> Ints:
    """The rows by segment and process, each of these in the order in which it invoked."""
    order = by_process(segment, process, operation)
    # Operations are numbered as they stand in the history, which is mostly this order.
    same = ~begins(segment[order], process[order])
    if (same[1:] & (invoked[order][1:] < invoked[order][:-1])).any():
        return np.lexsort((operation, invoked, process, segment))
    return order


def known_before(
    order: Ints, segment: Ints, process: Ints, group: Ints, gains: Ints
) -> tuple[Ints, Ints]:
    """Return the largest gain of the same process before each row, and its row.

    Args:
        order: the order in which rows are considered.
        segment: of each row.
        process: of each row.
        group: rows of one group do not count for each other.
        gains: of each row.

    Returns:
        The gains, and the rows by their place in this order; -1 if there is none.
    """
    before, source = _running(segment[order], process[order], gains[order])
    begin = _begin(segment[order], process[order], group[order])
    return before[begin], source[begin]


def _known(records: Records) -> Ints:
    """Of each read, how many slots hold records by what it returned, or by `latest`."""
    reads = records.batch.reads
    found = np.where(reads.kind == LATEST, records.low, records.base[reads.segment])
    np.maximum.at(found, records.e_read, records.e_slot + 1)
    return found


def _running(segment: Ints, process: Ints, gains: Ints) -> tuple[Ints, Ints]:
    """The running maximum of each (segment, process) without the row itself, and its row.

    -1 where there is nothing yet, with the row itself.
    """
    rows = np.arange(len(gains))
    new = begins(segment, process)
    group = np.cumsum(new) - 1
    width = int(gains.max(initial=0)) + 2
    shifted = gains + group * width
    running = np.maximum.accumulate(shifted)
    reached = np.maximum.accumulate(np.where(begins(running), rows, 0))
    before, source = np.full(len(gains), -1, np.int64), rows.copy()
    before[1:] = running[:-1] - group[1:] * width
    before[new] = -1
    source[1:] = np.where(new[1:], rows[1:], reached[:-1])
    return before, source


def _begin(segment: Ints, process: Ints, group: Ints) -> Ints:
    """Of each row, the first part of the operation that it is a part of."""
    first = begins(segment, process, group) | (group < 0)
    return np.maximum.accumulate(np.where(first, np.arange(len(group)), 0))
