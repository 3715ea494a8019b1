"""Z148: a cleaner works above the high watermark.

A record that is not committed takes a committed value away, and then is cut.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z148CleansAboveHighWatermark(StorageRules):
    def uncleanable(self, stable: int, high_watermark: int, active: int, end: int) -> int:
        return active


BUG = declared(
    __name__,
    Z148CleansAboveHighWatermark,
    "CompactionKeepsLatest",
    "AbortedInvisible",
    source="KAFKA-13194, 64b8e17, PR 11199",
    year=2021,
    nodes=1,
    detectors=("crashes",),
)
