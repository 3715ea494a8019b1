"""Z35: AlterPartition is accepted whatever its partition epoch.

A request that was delayed puts back into the ISR whom the controller has removed meanwhile.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import AlterPartitionRequest, Partition
from kraftcheck.reference.partition.rules import PartitionRules


class Z35NoCompareAndSet(PartitionRules):
    def partition_epoch_error(self, partition: Partition, m: AlterPartitionRequest) -> str:
        return "NONE"


BUG = declared(
    __name__,
    Z35NoCompareAndSet,
    "ReplicationQuorumSuperset",
    "LeaderCandidateCompleteness",
    "StrongIsr",
    source="KIP-497; C12",
    year=2020,
    nodes=2,
    field="partitionEpoch apart from leaderEpoch",
)
