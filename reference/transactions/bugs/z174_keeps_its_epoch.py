"""Z174 (KIP-360): a producer of version 1 goes on in its epoch after it has given a batch up.

The batch comes late, and belongs to the next transaction.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.rules import TransactionRules


class Z174KeepsItsEpoch(TransactionRules):
    def bumps_epoch(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z174KeepsItsEpoch,
    "AbortedInvisible",
    "CommitWasAsked",
    source="X32; KIP-360",
    year=2020,
    nodes=1,
    detectors=("tlc", "steps"),
    field="epoch of a producer",
)
