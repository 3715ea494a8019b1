"""Z145: the epoch file is not synced before it takes its name.

A crash of the machine leaves it empty, which reads as no epochs, or torn, with which no broker
starts.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z145EpochFileNotSynced(StorageRules):
    def epoch_file_synced(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z145EpochFileNotSynced,
    "EpochCacheSound",
    "StartUpTotal",
    source="KAFKA-16541, 3835515, PR 15993",
    year=2024,
    nodes=1,
    detectors=("tlc", "crashes"),
)
