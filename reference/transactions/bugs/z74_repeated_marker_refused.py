"""Z74 (KAFKA-19999): a marker that comes again is refused although nothing was begun since.

Its coordinator, which has not heard that it was written, waits for ever.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Producer


class Z74RepeatedMarkerRefused(TransactionRules):
    def marker_repeat_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return False


BUG = declared(
    __name__,
    Z74RepeatedMarkerRefused,
    "DecisionCompletes",
    source="X14",
    year=2025,
    klass="liveness",
    nodes=1,
    field="producer of a partition",
)
