"""Z150: what is known of transactions is forgotten between groups.

Of a transaction over two groups of segments the second drops the marker, or takes what was aborted
for committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z150TransactionsForgotten(StorageRules):
    def transactions_across_groups(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z150TransactionsForgotten,
    "MarkersKept",
    "AbortedInvisible",
    "CompactionKeepsLatest",
    source="KAFKA-8351, 6afb0ca, PR 6722",
    year=2019,
    nodes=1,
    detectors=("crashes",),
)
