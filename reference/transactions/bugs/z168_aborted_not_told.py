"""Z168: a reader of committed records is not told which transactions were aborted.

The index of its leader has none of them, as where a follower wrote it that could not know.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import ALL, declared
from kraftcheck.reference.transactions.messages import AbortedTxn
from kraftcheck.reference.transactions.rules import TransactionRules


class Z168AbortedNotTold(TransactionRules):
    def aborted_among(
        self, aborted: tuple[AbortedTxn, ...], offset: int, end: int
    ) -> tuple[AbortedTxn, ...]:
        return ()


BUG = declared(
    __name__,
    Z168AbortedNotTold,
    "ReadersSeeCommitted",
    source="X18",
    nodes=1,
    detectors=ALL,
    field="shown of a reader",
)
