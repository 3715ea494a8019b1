"""Z26: fetches are not fenced by leader epoch.

Before KIP-320 a fetch named no leader epoch, and only the first one after a change of leader looked
for divergence. A follower that is still in an old epoch of the same leader counts for its high
watermark; later it hears of the epochs between and truncates a record that is committed by then.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import UNDEFINED
from kraftcheck.reference.partition.messages import ReplicaFetchRequest, ReplicaFetchResponse
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z26NoFencing(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"

    def is_diverging(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        known = m.last_fetched_epoch != UNDEFINED
        return known and self.epoch_end_for(row, m).epoch < m.last_fetched_epoch

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
        )


BUG = declared(
    __name__,
    Z26NoFencing,
    "StrongIsr",
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KIP-320; KAFKA-6880",
    year=2018,
    field="leaderEpoch",
)
