"""Z149: a cleaned segment has the index of half of it.

The map of keys is full in the middle of a segment; what was aborted above is not asked for, and
its data are taken for committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z149IndexOfHalfASegment(StorageRules):
    def aborted_above(self, mapped: int, upper: int) -> int:
        return mapped


BUG = declared(
    __name__,
    Z149IndexOfHalfASegment,
    "AbortedInvisible",
    "CompactionKeepsLatest",
    source="KAFKA-13727, 76d287c, PR 11891",
    year=2022,
    nodes=1,
    detectors=("crashes",),
)
