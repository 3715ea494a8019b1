"""Z82 (KAFKA-5231, KAFKA-6119): the coordinator aborts with the producer's own epoch.

Version 1. The producer does not notice and goes on in the same epoch: half a transaction is
committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z82AbortKeepsTheEpoch(TransactionRules):
    def fenced_epoch(self, epoch: int) -> int:
        return epoch


BUG = declared(
    __name__,
    Z82AbortKeepsTheEpoch,
    "TxnAtomic",
    "AckedCommit",
    source="X8",
    year=2017,
    nodes=1,
    detectors=NO_CLIENT,
    field="txn of the coordinator",
)
