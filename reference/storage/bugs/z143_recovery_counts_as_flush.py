"""Z143: recovery advances the recovery point.

What was read through counts as flushed. A second crash of the machine loses it, and nobody looks.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z143RecoveryCountsAsFlush(StorageRules):
    def recovery_point(self, checkpoint: int, end: int, clean: bool) -> int:
        return end


BUG = declared(
    __name__,
    Z143RecoveryCountsAsFlush,
    "FlushedSurvives",
    "RecoveredIsPrefix",
    source="KAFKA-10101, 068d8fe, PR 8812",
    year=2020,
    nodes=1,
    detectors=("tlc", "crashes"),
)
