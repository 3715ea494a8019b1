"""Z85 (KAFKA-9777): nobody looks again when the last marker is acknowledged, the row being locked.

The answers of two partitions come at the same time, and each finds the row locked by the other: the
decision is never complete. Here those of several partitions always come so.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z85CompletionMissed(TransactionRules):
    def is_completion_seen(self, row: Coordinator) -> bool:
        return len(row.txn.partitions) < 2


BUG = declared(
    __name__,
    Z85CompletionMissed,
    "DecisionCompletes",
    source="X25",
    year=2020,
    klass="liveness",
    nodes=1,
    detectors=("tlc",),
    field="pending of the coordinator",
)
