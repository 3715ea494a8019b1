"""Z144: the end moves after the index of transactions.

That index cannot be written, the records are in the file already, and the next append takes the
same offsets once more.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z144EndAfterIndex(StorageRules):
    def end_before_index(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z144EndAfterIndex,
    "OffsetsAscend",
    "RecoveredIsPrefix",
    source="KAFKA-7866, 6964c35, PR 6570",
    year=2019,
    nodes=1,
    detectors=("crashes",),
)
