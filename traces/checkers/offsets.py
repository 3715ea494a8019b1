"""What a group has committed of a partition, as a register that is written and read.

A commit writes it, an OffsetFetch reads it, and so does a member that is given the partition, for
it begins there. What is read must have been written, and by no commit that another one replaced
before the read began: that was asked for after the first had been answered, and was answered before
the read was asked for. A commit whose outcome is not known may come at any time, or never.

    justified(members, reads)   of each read, whether some commit explains it

O(n log n), in columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, UNKNOWN, Flags, Ints, indices
from kraftcheck.traces.checkers.members import Members
from kraftcheck.traces.rows import places_within

_BEFORE: Final = -(1 << 62)
PAIRS_MAX: Final = 1 << 20
"""So many pairs of a read and a commit are looked at together."""


class Reads(NamedTuple):
    """Observations of what is committed, each within a time: it is from `low` to `high`.

    UNKNOWN for both: that there is none.
    """

    place: Ints
    low: Ints
    high: Ints
    invoked: Ints
    completed: Ints


class Justified(NamedTuple):
    """Of each observation, right: whether some commit explains it.

    least, most: the lowest and highest offset that may have been (only if not right);
    """

    right: Flags
    never: Flags
    """Whether nothing may have been committed then."""
    least: Ints
    most: Ints
    known: Flags
    """Whether its value was committed by anybody, ever before."""


def justified(m: Members, reads: Reads) -> Justified:
    """Each observation against all commits."""
    c = m.commits
    sure = c.completed != NEVER
    clock = _Clock(np.concatenate((c.invoked, c.completed[sure], reads.invoked, reads.completed)))
    settled = _settled(m, sure, reads, clock)
    never = settled == _BEFORE
    right = never & (reads.low == UNKNOWN)
    found = Justified(
        right,
        never,
        np.full(len(right), NEVER),
        np.full(len(right), _BEFORE),
        np.zeros(len(right), bool),
    )
    _by_answered(m, sure, reads, settled, clock, found)
    _by_open(m, ~sure, reads, found)
    return found


class _Clock:
    """Places and times as one number that keeps the order of both."""

    def __init__(self, times: Ints) -> None:
        self._times = np.unique(times)
        self._width = len(self._times) + 2

    def at(self, place: Ints, time: Ints) -> Ints:
        found: Ints = place * self._width + np.searchsorted(self._times, time) + 1
        return found

    def first(self, place: Ints) -> Ints:
        return place * self._width


def _settled(m: Members, sure: Flags, reads: Reads, clock: _Clock) -> Ints:
    """Give when the last commit that was answered before each observation was asked for.

    What was answered before that is replaced. _BEFORE: there is none.
    """
    rows = indices(sure)
    place, asked = m.commits.place[rows], m.commits.invoked[rows]
    when = clock.at(place, m.commits.completed[rows])
    order = np.argsort(when, kind="stable")
    when, place, asked = when[order], place[order], asked[order]
    # The latest so far, at each place for itself.
    lifted = clock.at(place, asked)
    latest = np.maximum.accumulate(lifted) if len(lifted) else lifted
    at = np.searchsorted(when, clock.at(reads.place, reads.invoked), side="left") - 1
    there = (at >= 0) & (latest[at] >= clock.first(reads.place)) if len(latest) else at >= 0
    by_rank = np.argsort(lifted, kind="stable")
    found = np.full(len(at), _BEFORE)
    mine = by_rank[np.searchsorted(lifted[by_rank], latest[at[there]])]
    found[there] = asked[mine]
    return found


def _by_answered(
    m: Members, sure: Flags, reads: Reads, settled: Ints, clock: _Clock, found: Justified
) -> None:
    """By commits that were answered: few are under way at any time, and all others are replaced."""
    rows = indices(sure)
    c = m.commits
    order = rows[np.argsort(clock.at(c.place[rows], c.invoked[rows]), kind="stable")]
    asked = clock.at(c.place[order], c.invoked[order])
    answered = clock.at(c.place[order], c.completed[order])
    latest = np.maximum.accumulate(answered) if len(answered) else answered
    last = np.searchsorted(asked, clock.at(reads.place, reads.completed), side="left")
    since = np.where(settled == _BEFORE, clock.first(reads.place), clock.at(reads.place, settled))
    first = np.minimum(np.searchsorted(latest, since, side="left"), last)
    for read, commit in _pairs(first, last):
        row = order[commit]
        live = (answered[commit] >= since[read]) & (c.place[row] == reads.place[read])
        read, row = read[live], row[live]
        _note(found, reads, read, c.offset[row])
    _known(m, order, reads, found)


def _known(m: Members, order: Ints, reads: Reads, found: Justified) -> None:
    """Whether what was told had been committed before, though it is replaced since."""
    c = m.commits
    order = order[np.lexsort((c.invoked[order], c.offset[order], c.place[order]))]
    place, offset = c.place[order], c.offset[order]
    both = np.unique(np.concatenate((offset, reads.low)))
    width = len(both) + 1
    keys = place * width + np.searchsorted(both, offset)
    at = np.searchsorted(keys, reads.place * width + np.searchsorted(both, reads.low), side="left")
    there = at < len(order)
    there[there] &= (place[at[there]] == reads.place[there]) & (
        offset[at[there]] == reads.low[there]
    )
    there[there] &= c.invoked[order[at[there]]] < reads.completed[there]
    found.known[there] = True


def _by_open(m: Members, unsure: Flags, reads: Reads, found: Justified) -> None:
    """By commits of which nobody knows whether or when they took effect: each may, for ever."""
    c = m.commits
    rows = indices(unsure)
    if not len(rows):
        return
    order = rows[np.lexsort((c.offset[rows], c.place[rows]))]
    values = np.unique(np.concatenate((c.offset[order], reads.low, reads.high)))
    width = len(values) + 1
    keys = c.place[order] * width + np.searchsorted(values, c.offset[order])
    first = np.searchsorted(keys, reads.place * width + np.searchsorted(values, reads.low))
    last = np.searchsorted(
        keys, reads.place * width + np.searchsorted(values, reads.high), side="right"
    )
    earliest = _least_between(c.invoked[order], first, last)
    found.right[(reads.low != UNKNOWN) & (earliest < reads.completed)] = True
    # The lowest and the highest that may be there, over all offsets.
    begin = np.searchsorted(keys, reads.place * width)
    end = np.searchsorted(keys, (reads.place + 1) * width)
    for read, at in _pairs(np.where(found.right, end, begin), end):
        row = order[at]
        may = c.invoked[row] < reads.completed[read]
        _note(found, reads, read[may], c.offset[row[may]])


def _note(found: Justified, reads: Reads, read: Ints, offset: Ints) -> None:
    fits = (offset >= reads.low[read]) & (offset <= reads.high[read]) & (reads.low[read] != UNKNOWN)
    found.right[read[fits]] = True
    np.minimum.at(found.least, read, offset)
    np.maximum.at(found.most, read, offset)


def _pairs(first: Ints, last: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Each row with each number from its first to before its last."""
    counts = np.maximum(last - first, 0)
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + PAIRS_MAX, side="right")))
        some = counts[begin:end]
        rows = np.repeat(np.arange(begin, end), some)
        yield rows, first[rows] + places_within(some)
        begin = end


def _least_between(values: Ints, first: Ints, last: Ints) -> Ints:
    """The least of values[first:last] of each row; NEVER: of none. A table of powers of two."""
    found = np.full(len(first), NEVER)
    power = np.frexp((last - first).astype(np.float64))[1] - 1
    level = values
    for at in range(int(power.max(initial=-1)) + 1):
        mine = indices(power == at)
        found[mine] = np.minimum(level[first[mine]], level[last[mine] - (1 << at)])
        step = 1 << at
        level = np.minimum(level[:-step], level[step:]) if len(level) > step else level[:0]
    return found
