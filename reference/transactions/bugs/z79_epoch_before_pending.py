"""Z79 (KAFKA-18464): a transaction's end is judged by its epoch before what is pending.

A producer that aborts early, while its last transaction still completes, is told that it is
fenced.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import EndTxn
from kraftcheck.reference.transactions.rules import PREPARING, TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z79EpochBeforePending(TransactionRules):
    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        retried = (m.epoch + 1, self.completed_epoch(m.epoch + 1))
        if row.txn.state in PREPARING and row.txn.epoch not in retried:
            return "PRODUCER_FENCED"
        return self.end_txn_answer_v2(row, m)


BUG = declared(
    __name__,
    Z79EpochBeforePending,
    "FencedByOthers",
    source="X20",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="status of a producer",
)
