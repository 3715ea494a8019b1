"""Z73 (KAFKA-19446): a marker of the partition's own epoch is taken although a transaction is open.

The transaction that is open is the next one: a marker that comes again ends it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import WriteTxnMarkers
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Producer


class Z73LateMarkerTaken(TransactionRules):
    def marker_epoch_ok(self, producer: Producer, m: WriteTxnMarkers) -> bool:
        return m.epoch >= producer.epoch


BUG = declared(
    __name__,
    Z73LateMarkerTaken,
    "CommitWasAsked",
    "TxnAtomic",
    "AbortedInvisible",
    "AckedCommit",
    source="X14, KIP-1228",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="producer of a partition",
)
