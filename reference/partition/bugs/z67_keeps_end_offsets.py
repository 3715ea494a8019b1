"""Z67: a leader that led before keeps the end offsets of its followers.

A leader that was replaced and elected again applies both changes as one. It keeps what followers
had fetched from it before, although they may have truncated under the leader between; its high
watermark passes records that they lack. Kafka decides this way: reproduced on Apache Kafka 4.3.1,
where an acked record was lost in each of four runs, with acks=all, min.insync.replicas=2 and clean
elections only (experiments/folded_reelection.py, docs/divergences.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z67KeepsEndOffsets(PartitionRules):
    def keeps_end_offsets(self, row: BrokerRow) -> bool:
        return row.role == "Leader"


BUG = declared(
    __name__,
    Z67KeepsEndOffsets,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "StrongIsr",
    "WeakIsr",
    source="this kit; shown on Apache Kafka 4.3.1 (docs/divergences.md)",
    year=2026,
    boundary="keeps_end_offsets; several changes of metadata folded into one",
    field="remotes (endOffset)",
)
