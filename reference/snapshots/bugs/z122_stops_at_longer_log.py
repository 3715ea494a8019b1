"""Z122: a log that ends after a snapshot is not replaced by it; the process stops.

A deposed leader's log may end in a higher epoch than that of the snapshot that it is told to load:
Apache Kafka 4.3.1 then stops ("Full log truncation expected but didn't happen"). Started again, it
is told of the same snapshot, has it, and asks again without pause.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules
from kraftcheck.reference.snapshots.types import Snapshot, SnapshotRow


class Z122StopsAtLongerLog(SnapshotRules):
    def replaces_log(self, row: SnapshotRow, snapshot: Snapshot) -> bool:
        return self.snapshot_is_ahead(row, snapshot)


BUG = declared(
    __name__,
    Z122StopsAtLongerLog,
    "NoIllegalState",
    source="V7; Apache Kafka 4.3.1, KafkaRaftLog.truncateToLatestSnapshot",
    field="log",
    detectors=NO_CLIENT,
    alone="a run that is told breaks NoIllegalState too; by chance none has come to it",
)
