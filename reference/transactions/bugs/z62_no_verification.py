"""Z62 (KAFKA-14402): a batch opens a transaction without the coordinator being asked.

As before KIP-890. A batch that comes after its transaction's marker opens one that nobody ends, or
that the producer's next transaction takes over.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Producer


class Z62NoVerification(TransactionRules):
    def needs_verification(self, producer: Producer, epoch: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z62NoVerification,
    "NoHanging",
    "AbortedInvisible",
    source="X11, KIP-890",
    year=2022,
    nodes=1,
    detectors=NO_CLIENT,
    field="producer of a partition",
)
