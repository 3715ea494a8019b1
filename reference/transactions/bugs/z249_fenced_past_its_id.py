"""Z249: a fence is written with the first epoch of the next producer id.

Version 1: a producer has the last epoch that is given, its transaction times out, and the fence
that could not be written comes again: the epoch is raised twice, past the last number of the
producer id. In Kafka, where epochs are of 16 bits, it would overflow. The guard is the comparison
with Short.MAX_VALUE in `TransactionMetadata.prepareFenceProducerEpoch`. A mutant; no report is
known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z249FencedPastItsId(TransactionRules):
    __slots__ = ()

    def fenced_epoch(self, epoch: int) -> int:
        return epoch + 1


BUG = declared(
    __name__,
    Z249FencedPastItsId,
    "EpochsInBounds",
    source="X8; a mutant of TransactionMetadata.prepareFenceProducerEpoch",
    nodes=1,
    detectors=NO_CLIENT,
    field="coordinators (txn, pending)",
)
