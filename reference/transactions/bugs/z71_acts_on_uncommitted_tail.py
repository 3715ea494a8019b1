"""Z71: a new coordinator acts on what is not committed.

It makes its state of all that it has read, up to the end of its log and not to the high watermark.
Markers and answers follow; another move of the log drops the record, and the other decision is
taken.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z71ActsOnUncommittedTail(TransactionRules):
    def acts_on_committed_only(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z71ActsOnUncommittedTail,
    "DecidedBeforeMarked",
    "AckedCommit",
    "TxnAtomic",
    "OneDecision",
    source="X4; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="log",
)
