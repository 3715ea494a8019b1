"""Z146: recovery does not note epoch 0.

It notes epochs above the one that it knows, and takes none for 0. A follower that diverged is told
a wrong end.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z146EpochZeroForgotten(StorageRules):
    def assigns_epoch(self, epoch: int, latest: int | None) -> bool:
        return epoch > (latest or 0)


BUG = declared(
    __name__,
    Z146EpochZeroForgotten,
    "EpochCacheSound",
    source="KAFKA-10432, d252185, PR 9219",
    year=2020,
    nodes=1,
    detectors=("crashes",),
)
