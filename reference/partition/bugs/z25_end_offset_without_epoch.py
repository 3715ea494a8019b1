"""Z25: the leader says where an epoch ends, and not which epoch.

Between KIP-101 and KIP-279 the answer to a follower's last epoch carried an end offset alone. A
leader that does not know the epoch answers for another one, and the follower, which cannot tell,
cuts its log at the wrong place. After a fast failover two logs differ below both high watermarks.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import UNDEFINED, EpochEnd
from kraftcheck.reference.partition.messages import ReplicaFetchRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z25EndOffsetWithoutEpoch(PartitionRules):
    def epoch_end_for(self, row: BrokerRow, m: ReplicaFetchRequest) -> EpochEnd:
        end = super().epoch_end_for(row, m)
        return end if end.epoch == UNDEFINED else EpochEnd(m.last_fetched_epoch, end.end_offset)

    def truncation_point(self, row: BrokerRow, diverging: EpochEnd) -> int:
        return min(diverging.end_offset, len(row.log))


BUG = declared(
    __name__,
    Z25EndOffsetWithoutEpoch,
    "PartitionLogMatching",
    "StrongIsr",
    "PartitionEpochCacheSound",
    source="KIP-279; KAFKA-6361, PR 4882",
    year=2018,
    nodes=2,
    field="epochCache",
)
