"""Which batches a log has, in bounded memory: a sum over each stretch of offsets.

Of two logs the sums are the same where the batches are; where they are not, the batches are read
again from there (replicas.py). Stretches are of a power of two, and become longer where there would
be too many.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from kraftcheck.traces.disks.batches import Batch

MOST: Final = 1 << 13
"""So many stretches are kept of a log."""
_WRAP: Final = (1 << 64) - 1


class Stretch(NamedTuple):
    """segment, position: of its first batch."""

    segment: int
    position: int
    sum: int
    """Of hashes of its batches (base, last, epoch, checksum), which mean something in this process
    only.
    """


class Sums:
    """Of the batches so far."""

    def __init__(self) -> None:
        self._bits = 0
        self._kept: dict[int, Stretch] = {}
        self._at = -1
        self._first = (0, 0)
        self._sum = 0

    def add(self, segment: int, batch: Batch) -> None:
        if batch.base >> self._bits != self._at:
            self._close()
            self._at, self._first = batch.base >> self._bits, (segment, batch.position)
            self._sum = 0
        self._sum += hash((batch.base, batch.last, batch.epoch, batch.crc))

    def _close(self) -> None:
        if self._at >= 0:
            _put(self._kept, self._at, Stretch(*self._first, self._sum & _WRAP))
        self._at = -1
        while len(self._kept) > MOST:
            self._kept = _joined(self._kept, 1)
            self._bits += 1

    def differing(self, other: Sums) -> Iterator[tuple[int, Stretch | None, Stretch | None]]:
        """Give the stretches that differ, in ascending order.

        Each has the offset after its last, and what either log has there, or next behind it. None:
        nothing any more.
        """
        for each in (self, other):
            each._close()
        bits = max(self._bits, other._bits)
        ours, theirs = (_joined(each._kept, bits - each._bits) for each in (self, other))
        places = sorted(ours), sorted(theirs)
        for at in sorted(ours.keys() | theirs.keys()):
            one, two = ours.get(at), theirs.get(at)
            if one is None or two is None or one.sum != two.sum:
                yield (at + 1) << bits, _next(ours, places[0], at), _next(theirs, places[1], at)


def _next(kept: dict[int, Stretch], places: Sequence[int], at: int) -> Stretch | None:
    found = bisect_left(places, at)
    return kept[places[found]] if found < len(places) else None


def _joined(kept: dict[int, Stretch], bits: int) -> dict[int, Stretch]:
    out: dict[int, Stretch] = {}
    for at, each in kept.items():
        _put(out, at >> bits, each)
    return out


def _put(kept: dict[int, Stretch], at: int, more: Stretch) -> None:
    """Of what came before, the place stays."""
    there = kept.get(at)
    kept[at] = more if there is None else there._replace(sum=(there.sum + more.sum) & _WRAP)
