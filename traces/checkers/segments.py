"""Arrays whose rows lie in segments, in their order: times, counts, and what is equal in both."""

from __future__ import annotations

from typing import Final

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, Ints, LogBatch, indices
from kraftcheck.traces.rows import begins

ENDLESS: Final = np.int64(NEVER)
"""Later than every time, after shifting too."""
BEFORE: Final = np.int64(-1)
"""Earlier than every time."""
ZERO: Final = np.zeros(1, np.int64)
"""Before the first of sums."""
NONE: Final = np.zeros(0, np.int64)
"""No rows."""


def shifted_times(batch: LogBatch) -> tuple[Ints, Ints, Ints, Ints]:
    """Of appends, when they begin and end; and of reads.

    Every moment of a segment comes after all of the one before; what is not over ends at ENDLESS.
    """
    appends, reads = batch.appends, batch.reads
    times = np.concatenate((appends.invoked, reads.invoked, appends.completed, reads.completed))
    count, half = len(appends.invoked), len(times) // 2
    first, last = (int(times.min()), int(times.max())) if half else (0, 0)
    endless = indices(times >= NEVER) if last >= NEVER else NONE
    if len(endless):
        times[endless] = first
        last = int(times.max())
    width = 2 * (last - first + 2)
    if width * batch.segments < NEVER:
        # Before they are doubled, which times of 2**62 and more would not fit.
        times -= first
        times <<= 1
        if batch.segments > 1:
            for rows, begin in ((appends.segment, 0), (reads.segment, count)):
                shift = rows * width
                for at in (begin, half + begin):
                    times[at : at + len(rows)] += shift
    else:
        times = _ranks(times, np.concatenate((appends.segment, reads.segment)))
    times[half:] += 1
    times[endless] = ENDLESS
    return times[:count], times[half : half + count], times[count:half], times[half + count :]


def _ranks(times: Ints, segment: Ints) -> Ints:
    """Twice the ranks in their segment of times whose numbers are too large to shift."""
    segments = np.concatenate((segment, segment))
    order = np.lexsort((times, segments))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(begins(times[order]))
    return 2 * ranks


class Spread:
    """The rows of a table, in order of their segments: how many each segment has."""

    def __init__(self, segment: Ints, segments: int) -> None:
        self.single = segments == 1
        if self.single:
            self.starts, self.counts = ZERO, np.array([len(segment)])
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


def rows_of(counts: Ints, full: Ints) -> Ints:
    """[2, 0, 1] -> [0, 0, 2]; full: where the counts are not 0."""
    if len(full) == int(counts.sum()):
        return full
    return np.repeat(full, counts.take(full))


def join(
    segment: Ints, value: Ints, other_segment: Ints, other_value: Ints
) -> tuple[Ints, Ints, int]:
    """Groups of equal (segment, value): of the one side, of the other, and how many there are."""
    segments = np.concatenate((segment, other_segment))
    values = np.concatenate((value, other_value))
    order = np.lexsort((values, segments))
    new = begins(values[order], segments[order])
    group = np.empty(len(order), np.int64)
    group[order] = np.cumsum(new) - 1
    return group[: len(segment)], group[len(segment) :], max(int(new.sum()), 1)
