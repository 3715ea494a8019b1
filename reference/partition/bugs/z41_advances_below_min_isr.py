"""Z41: the high watermark moves although the ISR is below min ISR.

With eligible leader replicas, members that left the ISR below min ISR may still be elected. What
the rest of the ISR commits without them is then lost in a clean election.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z41AdvancesBelowMinIsr(PartitionRules):
    def enough_in_sync(self, row: BrokerRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z41AdvancesBelowMinIsr,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "AckedHasMinIsrCopies",
    source="KAFKA-15583, PR 14594",
    year=2023,
    field="highWatermark, isr",
)
