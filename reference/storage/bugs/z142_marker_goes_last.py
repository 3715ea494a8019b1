"""Z142: the marker of a clean stop is removed after the load.

A crash while logs are loaded leaves it, and the next start takes for whole what the load had
changed: indexes with room for more, whose zeros retention reads as 1970.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z142MarkerGoesLast(StorageRules):
    def marker_goes_first(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z142MarkerGoesLast,
    "IndexLowerBound",
    "RecoveredIsPrefix",
    source="KAFKA-10471, be4c452, PR 9364",
    year=2020,
    nodes=1,
    detectors=("tlc", "crashes"),
)
