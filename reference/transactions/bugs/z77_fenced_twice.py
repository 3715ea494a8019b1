"""Z77 (KAFKA-19367): a fence raises the epoch twice, and beyond the last one of the producer id.

In Kafka the number overflows, nothing more can be appended, and the transaction stays open.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z77FencedTwice(TransactionRules):
    def fenced_epoch(self, epoch: int) -> int:
        return epoch + 2


BUG = declared(
    __name__,
    Z77FencedTwice,
    "EpochsInBounds",
    source="X8",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="pending of the coordinator",
)
