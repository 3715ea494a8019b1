"""Z83 (KAFKA-17877): markers for several partitions are answered when the first is written.

The coordinator completes a transaction that is still open in a partition.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z83AnsweredBeforeAll(TransactionRules):
    def marked_by(self, row: Coordinator, m: WriteTxnMarkers) -> tuple[int, ...]:
        return row.to_mark


BUG = declared(
    __name__,
    Z83AnsweredBeforeAll,
    "LogMatchesMarkers",
    source="X23",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="toMark of the coordinator",
)
