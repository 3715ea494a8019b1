"""Z154: the limit of a read is looked up twice.

A read that reaches the end of the file takes that end, and looks a second time for it. What was
appended in between is read as well, above the high watermark.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z154LimitReadTwice(StorageRules):
    def one_limit(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z154LimitReadTwice,
    "ReadOnlyCommitted",
    source="KAFKA-9835, 778b1e3, PR 8451",
    year=2020,
    nodes=1,
    detectors=("crashes",),
)
