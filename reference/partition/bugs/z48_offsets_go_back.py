"""Z48: a new leader names its high watermark before it is known to be current.

The latest offset that clients are told goes back after an election (KIP-207).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z48OffsetsGoBack(PartitionRules):
    def list_offsets_error(self, row: BrokerRow) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"


BUG = declared(
    __name__,
    Z48OffsetsGoBack,
    "MonotonicListOffsets",
    source="KIP-207; KAFKA-2334, PR 5991",
    year=2018,
    nodes=2,
    field="highWatermark, epochStart",
)
