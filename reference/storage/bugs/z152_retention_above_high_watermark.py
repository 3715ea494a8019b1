"""Z152: retention deletes what is not committed.

The log start passes the high watermark; followers are out of range, and start anew.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z152RetentionAboveHighWatermark(StorageRules):
    def retention_bound(self, high_watermark: int, end: int) -> int:
        return end


BUG = declared(
    __name__,
    Z152RetentionAboveHighWatermark,
    "HwWithinLog",
    source="KAFKA-5634, 6bd7302, PR 3575",
    year=2017,
    nodes=1,
    detectors=("crashes",),
)
