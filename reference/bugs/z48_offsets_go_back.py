"""Z48: a new leader names its high watermark before it is known to be current.

The latest offset that clients are told goes back after an election (KIP-207).
"""

from __future__ import annotations

from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import BrokerRow


class Z48OffsetsGoBack(PartitionRules):
    __slots__ = ()

    def list_offsets_error(self, row: BrokerRow) -> str:
        return "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"
