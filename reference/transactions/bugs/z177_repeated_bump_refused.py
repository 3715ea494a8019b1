"""Z177 (KIP-360): a producer that asks again for an epoch, its answer being lost, is fenced.

The coordinator has given it the epoch, and knows only that the one that it names is an older one.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import BumpEpoch
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z177RepeatedBumpRefused(TransactionRules):
    def is_repeated_bump(self, row: Coordinator, m: BumpEpoch) -> bool:
        return False


BUG = declared(
    __name__,
    Z177RepeatedBumpRefused,
    "FencedByOthers",
    source="X7; KIP-360",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending of the coordinator",
)
