"""Z153: a follower cannot begin within a batch.

The leader's log start lies within a batch. A new follower begins there, is sent the whole batch,
which begins lower, and refuses it for ever.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z153StartInsideBatch(StorageRules):
    def starts_anew(self, log_end: int, log_start: int, first: int, last: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z153StartInsideBatch,
    "EventuallyFullyReplicated",
    source="KAFKA-6975, 37a4d5e, PR 5133",
    year=2018,
    nodes=1,
    detectors=("crashes",),
)
