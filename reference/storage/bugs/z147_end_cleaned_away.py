"""Z147: the end of what is cleaned goes.

The last batch has no survivors; after a restart the log ends lower, and offsets are given twice.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z147EndCleanedAway(StorageRules):
    def keeps_last_of_round(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z147EndCleanedAway,
    "FlushedSurvives",
    "EndKept",
    source="KAFKA-17076, a577d30, PR 17193",
    year=2024,
    nodes=1,
    detectors=("crashes",),
)
