"""Z165: a marker that was refused with an odd error is not sent again.

The coordinator expects some errors of a partition, and throws at others: the marker is in no queue
any more, and nobody completes what is decided. Another coordinator, which loads its log, sends it
again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z165RefusedIsForgotten(TransactionRules):
    def retries_refused_marker(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z165RefusedIsForgotten,
    "NoHangingTransaction",
    "DecisionCompletes",
    source="X22; Apache Kafka 4.3.1, TransactionMarkerRequestCompletionHandler",
    year=2026,
    klass="liveness",
    nodes=1,
    field="pending and to_mark of the coordinator",
)
