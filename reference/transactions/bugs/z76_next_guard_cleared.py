"""Z76 (KAFKA-18575): a marker takes away the guard of the next transaction.

The coordinator has let its first batch in, and the batch is refused all the same: a transaction is
aborted that nothing was wrong with.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules


class Z76NextGuardCleared(TransactionRules):
    def marker_clears_guard(self, guard: int, m: WriteTxnMarkers) -> bool:
        return True


BUG = declared(
    __name__,
    Z76NextGuardCleared,
    "GuardKept",
    source="X14",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="guard of a partition",
)
