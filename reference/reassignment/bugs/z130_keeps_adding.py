"""Z130: a reassignment that is taken back never ends.

Who is added is computed from the list as it is, which has who is being added, and is not written
where it is nobody. Asked for what was there before, the controller removes the new replica, which
is still to be added: a reassignment ends when all that are added are in the ISR without those that
are removed. Apache Kafka 4.3.1 does so (ReplicationControlManager.changePartitionReassignment); it
has been without an end since KAFKA-19975.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z130KeepsAdding(ReassignmentRules):
    def adding_after(self, partition: MovingPartition, target: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted({*target} - {*partition.replicas})) or partition.adding


BUG = declared(
    __name__,
    Z130KeepsAdding,
    "IsrElrAreReplicas",
    "TargetReached",
    source="R2; Apache Kafka 4.3.1, ReplicationControlManager",
    year=2025,
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
