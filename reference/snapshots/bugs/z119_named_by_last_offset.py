"""Z119 (KAFKA-14618): a snapshot is named by the offset of its last record, not by that after it.

It has one record more than it says: who loads it fetches that record again, and applies it twice.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules
from kraftcheck.reference.snapshots.types import Snapshot, SnapshotRow


class Z119NamedByLastOffset(SnapshotRules):
    def snapshot_taken(self, row: SnapshotRow, end: int) -> Snapshot:
        return replace(super().snapshot_taken(row, end), end_offset=end - 1)


BUG = declared(
    __name__,
    Z119NamedByLastOffset,
    "SnapshotIsPrefix",
    source="V1; KAFKA-14618, PR 13108",
    year=2023,
    nodes=1,
    field="snapshots",
    detectors=NO_CLIENT,
)
