"""Z69: metadata that says nothing new clears a proposal that is on its way.

The record of an accepted AlterPartition reaches the leader after the answer did, and clears the
next proposal, to expand. The high watermark no longer waits for its member, and the controller
accepts it. Kafka decides this way: found by TLC and reproduced on Apache Kafka 4.3.1, where an
acked record was lost while the request to join was held up for longer than
replica.lag.time.max.ms (experiments/cleared_proposal.py, docs/divergences.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import Partition
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z69MetadataClearsProposal(PartitionRules):
    def clears_pending(self, row: BrokerRow, partition: Partition) -> bool:
        return True


BUG = declared(
    __name__,
    Z69MetadataClearsProposal,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "ReplicationQuorumSuperset",
    "StrongIsr",
    source="this kit; shown on Apache Kafka 4.3.1 (docs/divergences.md)",
    year=2026,
    boundary="clears_pending; AlterPartition's answer / its record in the metadata",
    field="pending, partitionEpoch",
)
