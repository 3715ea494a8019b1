"""Z43: the last known leader is elected whether it is alive or not.

When ISR and ELR are empty, the broker that led last is chosen although it is fenced.
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.partition.messages import Partition
from kraftcheck.reference.partition.rules import PartitionRules


class Z43DeadLastLeaderElected(PartitionRules):
    def last_known_leader_electable(
        self,
        partition: Partition,
        target_isr: tuple[int, ...],
        target_elr: tuple[int, ...],
        acceptable: Collection[int],
    ) -> bool:
        return super().last_known_leader_electable(
            partition, target_isr, target_elr, (partition.last_known_leader,)
        )


BUG = declared(
    __name__,
    Z43DeadLastLeaderElected,
    "FencedNeverElected",
    "ValidControllerState",
    source="KAFKA-19522, PR 20200",
    year=2025,
    nodes=1,
    lossy=True,
    detectors=NO_CLIENT,
    field="lastKnownLeader, registrations of the controller",
)
