"""Z248: a batch is let in while a lower one waits for the coordinator.

A partition that knows nothing of the producer takes any batch for the next one. Two batches wait
for the coordinator, the second is verified first and appended; the first is then taken for a copy.
The guard is `VerificationStateEntry.lowestSequence`, asked by `ProducerAppendInfo.checkSequence`;
with version 2 a first batch has number 0 anyway. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.transactions.messages import Verification
from kraftcheck.reference.transactions.rules import TransactionRules


class Z248HigherVerifiedFirst(TransactionRules):
    __slots__ = ()

    def waits_for_lower(self, verifying: tuple[Verification, ...], v: Verification) -> bool:
        return False


BUG = declared(
    __name__,
    Z248HigherVerifiedFirst,
    "GapFree",
    source="X13; a mutant of ProducerAppendInfo.checkSequence",
    nodes=1,
    detectors=("tlc", "steps"),
    field="verifying",
)
