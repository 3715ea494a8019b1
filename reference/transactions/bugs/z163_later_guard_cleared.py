"""Z163 (Apache Kafka 4.3.1): a marker that comes again takes the guard of a later transaction.

It spares that of the next one, whose epoch is its own, and no other. The first batch of the later
one, which the coordinator has let in, is refused.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules


class Z163LaterGuardCleared(TransactionRules):
    def marker_clears_guard(self, guard: int, m: WriteTxnMarkers) -> bool:
        return not (self.epoch_per_transaction and guard == m.epoch)


BUG = declared(
    __name__,
    Z163LaterGuardCleared,
    "GuardKept",
    source="X14; Apache Kafka 4.3.1, UnifiedLog.updateProducers",
    year=2026,
    nodes=1,
    detectors=NO_CLIENT,
    field="guard of a partition",
)
