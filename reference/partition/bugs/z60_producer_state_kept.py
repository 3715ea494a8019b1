"""Z60: producer state is not rebuilt when the log is cut.

A follower that truncates and is elected later still remembers batches that it no longer has, and
answers their retry as a duplicate: acked, and nowhere.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import Producers, RecordLog
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z60ProducerStateKept(PartitionRules):
    def producers_after_truncation(self, row: BrokerRow, log: RecordLog) -> Producers:
        return row.producers


BUG = declared(
    __name__,
    Z60ProducerStateKept,
    "PartitionLeaderCompleteness",
    "AckedHasMinIsrCopies",
    source="P14, P23",
    field="producers apart from log",
)
