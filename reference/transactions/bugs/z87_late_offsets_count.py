"""Z87 (Apache Kafka 4.3.1): late offsets take the place of newer ones.

A TxnOffsetCommit has no sequence number, so nothing tells a late copy. With an epoch for each
transaction it takes two of them in one transaction; before, it may come in the next one.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z87LateOffsetsCount(TransactionRules):
    def has_sequence(self, partition: int) -> bool:
        return partition not in self.constants.offsets


BUG = declared(
    __name__,
    Z87LateOffsetsCount,
    "ExactlyOnceInputs",
    source="X29; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="log of a partition",
)
