"""Z135: a reassignment is given up although that leaves nobody in the ISR.

The first of the replicas that are left is put there instead, whatever it has: an unclean election,
for which nobody gave permission (KIP-455).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition, Why


class Z135CancelEmptiesIsr(ReassignmentRules):
    def cancel_refused(self, partition: MovingPartition) -> Why:
        running = partition.adding or partition.removing
        return "" if running else "NO_REASSIGNMENT_IN_PROGRESS"


BUG = declared(
    __name__,
    Z135CancelEmptiesIsr,
    "LeaderCandidateCompleteness",
    source="R4; KIP-455; a mutant",
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
