"""Z188 (Apache Kafka 4.3.1): a late batch takes the guard of the next transaction.

Offsets of a transaction that is being aborted come late, and those of the next one wait for the
coordinator: they are refused then, which no producer survives.
"""

from __future__ import annotations

from reference.bugs.bug import NO_CLIENT, declared
from reference.transactions.messages import Produce
from reference.transactions.rules import TransactionRules


class Z188BatchTakesGuard(TransactionRules):
    def batch_clears_guard(self, guard: int, m: Produce) -> bool:
        return True


BUG = declared(
    __name__,
    Z188BatchTakesGuard,
    "GuardKept",
    source="X13; Apache Kafka 4.3.1, UnifiedLog.updateProducers",
    year=2026,
    nodes=1,
    detectors=NO_CLIENT,
    field="guard of a partition",
)
