"""Z23: a new follower cuts its log to its high watermark.

Before KIP-101 nobody was asked where the logs diverge. A follower that restarts, or hears of a new
epoch, cuts to its own high watermark, which lags behind the leader's. If it is elected before it
has fetched again, an acked record is gone, and the old leader cuts its copy too.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import ReplicaFetchRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z23TruncateToHighWatermark(PartitionRules):
    def end_on_become_follower(self, row: BrokerRow) -> int:
        return min(row.high_watermark, len(row.log))

    def is_diverging(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        return False


BUG = declared(
    __name__,
    Z23TruncateToHighWatermark,
    "StrongIsr",
    "WeakIsr",
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "PartitionLogMatching",
    source="KIP-101 case 1; KAFKA-1211",
    year=2016,
    nodes=2,
    field="highWatermark apart from log",
)
