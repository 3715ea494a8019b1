"""Z200 (Apache Kafka 4.3.1): a transaction that has just begun is aborted for the age of the last.

A sweep lists what is over its timeout and aborts one after the other. Which transaction it is by
then is not asked.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z200ListIsOld(TransactionRules):
    def still_listed(self, row: Coordinator) -> bool:
        return True


BUG = declared(
    __name__,
    Z200ListIsOld,
    "AbortedIsListed",
    source="X26; Apache Kafka 4.3.1, TransactionCoordinator.abortTimedOutTransactions",
    year=2026,
    nodes=1,
    detectors=NO_CLIENT,
    field="pending of the coordinator",
)
