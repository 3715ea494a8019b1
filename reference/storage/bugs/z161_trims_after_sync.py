"""Z161: a clean stop writes the last time entry behind the last sync.

After a power cut it may be zeros, and retention deletes the segment, as one of long ago.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z161TrimsAfterSync(StorageRules):
    def trims_before_sync(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z161TrimsAfterSync,
    "IndexLowerBound",
    source="Apache Kafka 4.3.1, KAFKA-20979",
    year=2026,
    nodes=1,
    detectors=("tlc", "crashes"),
)
