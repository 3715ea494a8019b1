"""Z305 (KAFKA-16540): the ELR stays when min.insync.replicas changes.

A replica that leaves an ISR below min.insync.replicas is eligible, because nothing is committed
while the ISR is so small. Then min.insync.replicas is lowered, and the leader commits alone. When
it is gone, the replica in the ELR is elected, cleanly, without what was acknowledged. Kafka empties
the ELR in the batch that changes the configuration; whoever changes it elsewhere (a configuration
of brokers, a static one) must see to that, too (Strimzi's issue 11685).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z305ElrOutlivesMinIsr(ReassignmentRules):
    def clears_eligible(self, partition: MovingPartition) -> bool:
        return False


BUG = declared(
    __name__,
    Z305ElrOutlivesMinIsr,
    "LeaderCandidateCompleteness",
    source="KIP-966, KAFKA-16540; ConfigurationControlManager.createClearElrRecordsAsNeeded; R24",
    year=2024,
    nodes=2,
    field="minIsr, elr",
    detectors=NO_CLIENT,
)
