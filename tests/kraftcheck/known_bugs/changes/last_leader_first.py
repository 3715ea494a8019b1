"""The last known leader is elected although eligible replicas are left, which are fenced.

They may have records that were committed, and that it has lost.
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.partition.messages import NOBODY, Partition
from kraftcheck.reference.partition.rules import PartitionRules


class LastLeaderFirst(PartitionRules):
    def last_known_leader_electable(
        self,
        partition: Partition,
        target_isr: tuple[int, ...],
        target_elr: tuple[int, ...],
        acceptable: Collection[int],
    ) -> bool:
        return (
            self.constants.elr_enabled
            and not target_isr
            and partition.last_known_leader != NOBODY
            and partition.last_known_leader in acceptable
        )
