"""Z33: the high watermark waits for the committed ISR only.

The controller may have accepted an expansion whose answer is on its way. The leader still advances
without the new member, which is elected and lacks what was committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z33CommittedIsrOnly(PartitionRules):
    def high_watermark_quorum(self, row: BrokerRow) -> tuple[int, ...]:
        return row.isr


BUG = declared(
    __name__,
    Z33CommittedIsrOnly,
    "LeaderCandidateCompleteness",
    "StrongIsr",
    "PartitionLeaderCompleteness",
    source="KIP-497",
    year=2020,
    field="pending apart from isr",
)
