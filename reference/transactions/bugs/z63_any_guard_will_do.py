"""Z63: an answer about an earlier transaction lets a late batch in: guards are not unique.

Version 1. A batch is verified, its transaction is aborted and its guard goes; the next transaction
puts up a guard, which is taken for the old one.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.messages import Verification
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import UNKNOWN


class Z63AnyGuardWillDo(TransactionRules):
    def is_guarded(self, guard: int, v: Verification) -> bool:
        return guard != UNKNOWN


BUG = declared(
    __name__,
    Z63AnyGuardWillDo,
    "AbortedInvisible",
    source="X13, KIP-890",
    nodes=1,
    detectors=("tlc", "steps"),
    field="guard of a partition",
)
