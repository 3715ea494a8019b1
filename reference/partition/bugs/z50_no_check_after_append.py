"""Z50: a producer is told of success although the ISR has shrunk meanwhile.

Nobody asks, when the high watermark passes a record, whether enough copies are left. That the high
watermark does not move below min ISR hides it, so this is Kafka before KAFKA-15583.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z50NoCheckAfterAppend(PartitionRules):
    def enough_in_sync(self, row: BrokerRow) -> bool:
        return True

    def parked_error(self, row: BrokerRow) -> str:
        return "NONE"


BUG = declared(
    __name__,
    Z50NoCheckAfterAppend,
    "AckedHasMinIsrCopies",
    "LeaderCandidateCompleteness",
    source="P19",
    field="parked",
)
