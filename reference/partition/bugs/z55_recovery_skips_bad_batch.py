"""Z55: recovery keeps what lies behind a bad batch.

A batch whose checksum fails stays in the log of a broker that restarts, with whatever it holds.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z55RecoverySkipsBadBatch(PartitionRules):
    def recovered_end(self, row: BrokerRow) -> int:
        return len(row.log)


BUG = declared(
    __name__,
    Z55RecoverySkipsBadBatch,
    "PartitionLogMatching",
    "LeaderCandidateCompleteness",
    source="P23",
    nodes=2,
    lossy=True,
    boundary="recovered_end; a crash may corrupt what was not flushed",
    field="corrupt, log",
)
