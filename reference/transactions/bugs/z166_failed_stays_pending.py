"""Z166: a transition whose record cannot be made stays under way.

After a downgrade of transaction.version the record of an id has no place for what its row knows.
What takes a transition back is where an append ends, and none began: everybody who asks is told to
wait, until another coordinator loads the log. Here each append that fails does so, and leaves its
record.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z166FailedStaysPending(TransactionRules):
    def is_taken_back(self, row: Coordinator) -> bool:
        return False


BUG = declared(
    __name__,
    Z166FailedStaysPending,
    "PendingIsLocal",
    source="X3; Apache Kafka 4.3.1, TransactionStateManager.appendTransactionToLog",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="pending of the coordinator",
)
