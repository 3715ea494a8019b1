"""Z84 (KAFKA-17507): a marker is acknowledged before the group has applied it.

So the next transaction may send its offsets in between. They take the place of those that wait, and
are committed with the marker that was not theirs. In the models of groups the same is Z106.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import KeptOffsets


class Z84AppliedLate(TransactionRules):
    def is_applied_at_once(self, offsets: KeptOffsets) -> bool:
        return False


BUG = declared(
    __name__,
    Z84AppliedLate,
    "OffsetsAtomicWithRecords",
    source="X30",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="offsets of a partition",
)
