"""Z308: a deletion is confirmed before the replicas have made it.

The leader's own log begins higher, and the client is told. A follower has not fetched since. The
leader moves to it, without a crash, and what was deleted is there again. Kafka answers when the
logs of all live replicas begin there (KIP-107).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z308DeletionToldEarly(PartitionRules):
    def deletion_awaits(self, row: BrokerRow, r: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z308DeletionToldEarly,
    "DeletedEverywhere",
    source="S9, KIP-107; Partition.lowWatermarkIfLeader, DelayedDeleteRecords",
    nodes=2,
    detectors=("tlc", "steps", "invariants"),
    field="logStart, parked",
)
