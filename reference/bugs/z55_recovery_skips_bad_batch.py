"""Z55: recovery keeps what lies behind a bad batch.

A batch whose checksum fails stays in the log of a broker that restarts, with whatever it holds.
"""

from __future__ import annotations

from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import BrokerRow


class Z55RecoverySkipsBadBatch(PartitionRules):
    __slots__ = ()

    def recovered_end(self, row: BrokerRow) -> int:
        return len(row.log)
