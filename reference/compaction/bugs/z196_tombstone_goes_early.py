"""Z196: a tombstone goes as soon as it may be cleaned.

Nobody waits for delete.retention.ms. Whoever has read the record that it removes, and not yet the
tombstone, never hears of it: a load that goes on meanwhile brings back who has left the group
(KAFKA-4545, where the time was counted from the segment's last change; KIP-534 writes it down).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.compaction.rules import CompactionRules
from kraftcheck.reference.compaction.types import CompactedReplica


class Z196TombstoneGoesEarly(CompactionRules):
    def may_drop_tombstone(self, row: CompactedReplica, at: int, expired: int) -> bool:
        return True


BUG = declared(
    __name__,
    Z196TombstoneGoesEarly,
    "LoadedIsReplayed",
    "KeptIsReplayed",
    source="KAFKA-4545, KIP-534",
    year=2016,
    nodes=1,
    field="log",
    detectors=NO_CLIENT,
)
