"""Z132 (KAFKA-15665): a reassignment ends with less than min ISR.

Those that are removed leave the ISR with its end, and nobody asks how many are left: records that
could be acknowledged before cannot be any more. Apache Kafka 4.3.1 does so.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z132EndsBelowMinIsr(ReassignmentRules):
    def keeps_min_isr(
        self, partition: MovingPartition, kept: tuple[int, ...], min_isr: int
    ) -> bool:
        return True


BUG = declared(
    __name__,
    Z132EndsBelowMinIsr,
    "ReassignmentKeepsMinIsr",
    source="R3; KAFKA-15665, PR 14604; KAFKA-19975",
    year=2023,
    nodes=4,
    field="partitions",
    detectors=NO_CLIENT,
)
