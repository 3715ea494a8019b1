"""Z171: the last entries of a closed segment are never synced where a flush came before the roll.

The flush behind the roll begins at the recovery point, which is the new segment's first offset
already. After a power cut the last time entry may be zeros, and retention deletes the segment, as
one of long ago.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z171ClosingNotSynced(StorageRules):
    def closing_synced(self, recovery_point: int, base: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z171ClosingNotSynced,
    "IndexLowerBound",
    source="Apache Kafka 4.3.1, UnifiedLog.roll",
    year=2026,
    nodes=1,
    detectors=("tlc", "crashes"),
)
