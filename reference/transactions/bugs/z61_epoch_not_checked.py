"""Z61: the coordinator does not look at the producer's epoch.

Neither when a partition is added nor when the transaction ends. An instance that a newer one has
replaced goes on, and what it writes is committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import AddPartitions, EndTxn
from kraftcheck.reference.transactions.rules import PREPARING, TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z61EpochNotChecked(TransactionRules):
    def add_partitions_answer(self, row: Coordinator, m: AddPartitions) -> str:
        if row.pending.state != "None" or row.txn.state in PREPARING:
            return "CONCURRENT_TRANSACTIONS"
        is_known = row.txn.state == "Ongoing" and m.partition in row.txn.partitions
        return "NONE" if is_known else "Append"

    def end_txn_answer(self, row: Coordinator, m: EndTxn) -> str:
        if row.txn.state == "Ongoing" and row.pending.state == "None":
            return "Append"
        return self.end_txn_answer_v2(row, m)


BUG = declared(
    __name__,
    Z61EpochNotChecked,
    "ZombieCommitsNothing",
    "ZombieFenced",
    source="X9, X20",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending of the coordinator",
)
