"""Z65: the marker of a coordinator that was replaced is taken.

The coordinator epoch of a marker is not compared with the one that the partition knows, and goes
back.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Producer


class Z65CoordinatorEpochNotChecked(TransactionRules):
    def is_coordinator_fenced(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return False


BUG = declared(
    __name__,
    Z65CoordinatorEpochNotChecked,
    "EpochMonotonic",
    source="T4, X14",
    nodes=1,
    detectors=NO_CLIENT,
    field="producer of a partition",
)
