"""Z140: aborted records are shown after a bulk copy.

A follower applies all batches of a fetch before it completes transactions. The last stable offset
that it stores with an aborted one skips what is open of the same producer, its next transaction
included; readers whose fetch ends in between look for no more aborted ones. Apache Kafka 4.3.1 does
so (finds/Z140/README.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z140CompletedLso(StorageRules):
    def completed_lso(
        self, open_txns: Sequence[tuple[int, int]], first: int, producer: int, marker: int
    ) -> int:
        return next((at for at, of in open_txns if of != producer), marker + 1)


BUG = declared(
    __name__,
    Z140CompletedLso,
    "TxnIndexExact",
    "AbortedInvisible",
    source="D2; ProducerStateManager.findNextIncompleteTxn of 4.3.1",
    nodes=1,
    detectors=("crashes",),
)
