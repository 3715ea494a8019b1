"""Z202: no new target is made before the clock comes to the time at which the last one was made.

Apache Kafka 4.3 waits between two targets of a group (group.consumer.assignment.interval.ms), and
asks the time that the last one's coordinator wrote down. Where the clock of that one was ahead, the
next coordinator makes none until its own clock is there, as long as that may be
(GroupMetadataManager.canComputeNextTargetAssignment). Here are no clocks: the first target, of
epoch 1, is that of a former coordinator, and its time is not reached.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.groups.messages import GroupRecord
from kraftcheck.reference.groups.rules import GroupRules

FORMER = 1
"""The epoch of the target that a group begins with."""


class Z202TimeYetToCome(GroupRules):
    __slots__ = ()

    def needs_target(self, group: GroupRecord) -> bool:
        return FORMER != group.target_epoch < group.epoch


BUG = declared(
    __name__,
    Z202TimeYetToCome,
    "Converges",
    source="G15; Apache Kafka 4.3.1 (KIP-1263, KAFKA-20291); no report of what follows was found",
    klass="liveness",
    nodes=1,
    detectors=("tlc", "steps"),
    field="target_epoch",
)
