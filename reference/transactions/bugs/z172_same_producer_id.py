"""Z172: an id that was forgotten comes back with the producer id that it had.

A new instance is given its first epoch, which an older one has had.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z172SameProducerId(TransactionRules):
    def returned_epoch(self, epoch: int) -> int:
        return epoch // self.epochs_of_id * self.epochs_of_id


BUG = declared(
    __name__,
    Z172SameProducerId,
    "EpochMonotonic",
    "EpochHeldOnce",
    "ExactlyOnceAppend",
    "OnePreparedDecision",
    "OneDecision",
    source="X27; KIP-98",
    nodes=1,
    detectors=NO_CLIENT,
    field="epoch of the coordinator",
)
