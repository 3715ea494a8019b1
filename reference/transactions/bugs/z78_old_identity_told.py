"""Z78 (KAFKA-18660): who ends its transaction is told the old identity, not the next one.

Where a producer id has no epoch left, the producer goes on with one that is given to nobody, and
is fenced by itself.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z78OldIdentityTold(TransactionRules):
    def end_answered_epoch(self, epoch: int) -> int:
        return epoch


BUG = declared(
    __name__,
    Z78OldIdentityTold,
    "EpochsInBounds",
    source="X21",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="epoch of a producer",
)
