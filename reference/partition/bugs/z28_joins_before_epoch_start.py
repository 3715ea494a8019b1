"""Z28: a replica joins the ISR before it has what the leader's epoch began with.

A new leader's high watermark lags. A replica at that high watermark, but short of records that an
earlier leader had committed, joins the ISR, is elected, and the records are gone.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z28JoinsBeforeEpochStart(PartitionRules):
    def is_in_sync(self, row: BrokerRow, r: int) -> bool:
        return row.remotes[self.position[r]].end_offset >= row.high_watermark


BUG = declared(
    __name__,
    Z28JoinsBeforeEpochStart,
    "LeaderCandidateCompleteness",
    "StrongIsr",
    "PartitionLeaderCompleteness",
    source="KAFKA-7128, PR 5557",
    year=2018,
    field="epochStart apart from highWatermark",
)
