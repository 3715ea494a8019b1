"""Z131: a reassignment that asks for more than the running one ends as the running one.

Where nobody is removed, the old list of those that are removed stays. Apache Kafka 4.3.1 does so
(ReplicationControlManager.changePartitionReassignment), and has since KAFKA-12803.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z131KeepsRemoving(ReassignmentRules):
    def removing_after(
        self, partition: MovingPartition, target: tuple[int, ...]
    ) -> tuple[int, ...]:
        return super().removing_after(partition, target) or partition.removing


BUG = declared(
    __name__,
    Z131KeepsRemoving,
    "TargetReached",
    "IsrElrAreReplicas",
    source="R2; Apache Kafka 4.3.1, ReplicationControlManager; KAFKA-12803",
    year=2021,
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
