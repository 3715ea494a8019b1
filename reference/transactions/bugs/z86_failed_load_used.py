"""Z86 (KAFKA-9307): a coordinator acts on a log that it could not read to its end.

Here it fails before it has read anything of this id: a transaction that is open in a partition is
known to nobody. Kafka gives an id that it does not know a new producer id.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z86FailedLoadUsed(TransactionRules):
    def reads_whole_log(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z86FailedLoadUsed,
    "NoHanging",
    source="X4",
    year=2019,
    nodes=1,
    detectors=NO_CLIENT,
    field="txn of the coordinator",
)
