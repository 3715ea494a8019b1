"""Z133: a broker that is no replica any more stays eligible.

It deletes its log. When it becomes a replica again, it may be elected before it has copied
anything, and all that was acknowledged is lost. Apache Kafka 4.3.1 does so
(PartitionChangeBuilder.maybePopulateTargetElr).
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z133EligibleWithoutReplica(ReassignmentRules):
    def eligible_after(
        self,
        partition: MovingPartition,
        replicas: tuple[int, ...],
        isr: tuple[int, ...],
        unclean: Collection[int],
        min_isr: int,
    ) -> tuple[int, ...]:
        everybody = self.constants.brokers
        return super().eligible_after(partition, everybody, isr, unclean, min_isr)

    def last_known_after(self, old: MovingPartition, new: MovingPartition) -> int:
        return self.last_leader(old, new)


BUG = declared(
    __name__,
    Z133EligibleWithoutReplica,
    "IsrElrAreReplicas",
    "LeaderCandidateCompleteness",
    source="R5; Apache Kafka 4.3.1, PartitionChangeBuilder",
    year=2023,
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
