"""Z34: a proposed shrink counts before the controller has agreed.

The leader drops a member from its quorum when it proposes to. The proposal is refused or lost, the
member is elected, and lacks what was committed without it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import NO_PENDING, BrokerRow


class Z34EagerShrink(PartitionRules):
    def maximal_isr(self, row: BrokerRow) -> tuple[int, ...]:
        if row.pending == NO_PENDING:
            return row.isr
        return tuple(member.broker for member in row.pending.isr)


BUG = declared(
    __name__,
    Z34EagerShrink,
    "StrongIsr",
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KIP-497",
    year=2020,
    field="pending apart from isr",
)
