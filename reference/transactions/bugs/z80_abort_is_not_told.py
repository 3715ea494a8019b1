"""Z80 (KAFKA-20785): a commit that comes after the coordinator's abort is called invalid.

Its producer, which had only been too slow, is unusable: told that it is fenced, it would begin
anew.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import EndTxn
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z80AbortIsNotTold(TransactionRules):
    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        answer = self.end_txn_answer_v2(row, m)
        retried = (m.epoch + 1, self.completed_epoch(m.epoch + 1))
        aborted = row.txn.state == "CompleteAbort" and row.txn.epoch in retried
        told = aborted and row.txn.epoch != m.epoch and answer == "PRODUCER_FENCED"
        return "INVALID_TXN_STATE" if told else answer


BUG = declared(
    __name__,
    Z80AbortIsNotTold,
    "EndNotRefused",
    source="X20; Apache Kafka 4.3.1",
    year=2026,
    nodes=1,
    detectors=NO_CLIENT,
    field="status of a producer",
)
