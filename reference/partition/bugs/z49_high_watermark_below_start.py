"""Z49: a follower that begins anew keeps its high watermark.

It had nothing that the leader still has and was wiped to the leader's start; its high watermark
stays below its own log start.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z49HighWatermarkBelowStart(PartitionRules):
    def high_watermark_after_wipe(self, row: BrokerRow, start: int) -> int:
        return row.high_watermark


BUG = declared(
    __name__,
    Z49HighWatermarkBelowStart,
    "LogBounds",
    source="KAFKA-9491, PR 8037",
    year=2020,
    nodes=2,
    field="highWatermark, logStart",
)
