"""Z141: a snapshot keeps one batch of five.

What is loaded knows the last batch of a producer only. A retry of an earlier one is out of order,
and the client that meets this writes all again (finds/Z141/README.md). Apache Kafka 4.3.1 does so.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z141SnapshotBatches(StorageRules):
    def snapshot_suffices(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z141SnapshotBatches,
    "ProducerStateReplays",
    source="D18; ProducerStateManager.writeSnapshot of 4.3.1",
    nodes=1,
    detectors=("crashes",),
)
