"""Z42: a broker that comes back without proof of a clean stop stays eligible.

It may have lost part of its log, stays in the ELR all the same, and is elected.
"""

from __future__ import annotations

from collections.abc import Collection

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import Partition
from kraftcheck.reference.partition.rules import PartitionRules


class Z42UncleanStaysEligible(PartitionRules):
    def target_elr(
        self, partition: Partition, target_isr: tuple[int, ...], unclean: Collection[int]
    ) -> tuple[int, ...]:
        return super().target_elr(partition, target_isr, ())


BUG = declared(
    __name__,
    Z42UncleanStaysEligible,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KAFKA-18106, KAFKA-18635, PR 18045, PR 18277",
    year=2024,
    lossy=True,
    field="elr of the controller",
)
