"""Z31: a follower whose leader is the same as before does not ask where the logs diverge.

It missed an epoch in between, in which somebody else led; its tail stays, and what it fetches next
stands behind records that the leader never had.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import UNDEFINED
from kraftcheck.reference.partition.messages import Partition
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z31SameLeaderNotAsked(PartitionRules):
    def last_fetched_on_become_follower(self, row: BrokerRow, partition: Partition) -> int:
        if row.image.partition.leader == partition.leader:
            return UNDEFINED
        return super().last_fetched_on_become_follower(row, partition)


BUG = declared(
    __name__,
    Z31SameLeaderNotAsked,
    "PartitionLogMatching",
    "StrongIsr",
    source="KAFKA-7164, PR 5436",
    year=2018,
    nodes=2,
    field="lastFetchedEpoch",
)
