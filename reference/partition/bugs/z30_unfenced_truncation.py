"""Z30: where to truncate is asked of a leader in another epoch.

The truncation point is believed although sender and receiver are in different epochs, so that it
may come from a log that is itself still to be cut.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import NO_DIVERGENCE
from kraftcheck.reference.partition.messages import ReplicaFetchRequest, ReplicaFetchResponse
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z30UnfencedTruncation(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        if row.role == "Leader" and self.is_diverging(row, m):
            return "NONE"
        return super().fetch_epoch_error(row, m)

    def response_matches(self, row: BrokerRow, m: ReplicaFetchResponse) -> bool:
        return (
            row.role == "Follower"
            and row.leader == m.source
            and m.request.fetch_offset == len(row.log)
            and (m.diverging != NO_DIVERGENCE or m.request.epoch == row.leader_epoch)
        )


BUG = declared(
    __name__,
    Z30UnfencedTruncation,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "StrongIsr",
    source="KIP-320",
    year=2018,
    nodes=2,
    field="leaderEpoch, log",
)
