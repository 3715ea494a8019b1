"""Z27: a fetch is fenced by the epoch of its last record only.

The first attempt at KIP-320: a fetch carries the epoch of the last record, and not the one that the
follower is in. A follower of an older epoch helps the high watermark on and truncates when it
catches up with the metadata.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import ReplicaFetchRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z27FencedByLastEpochOnly(PartitionRules):
    def fetch_epoch_error(self, row: BrokerRow, m: ReplicaFetchRequest) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"


BUG = declared(
    __name__,
    Z27FencedByLastEpochOnly,
    "StrongIsr",
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KIP-320, first version",
    year=2018,
    field="leaderEpoch apart from lastFetchedEpoch",
)
