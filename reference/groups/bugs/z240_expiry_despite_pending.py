"""Z240: an offset expires although a transaction has sent another one for its partition.

The tombstone removes what the transaction has sent as well, so its marker has nothing to commit,
and the next owner of the partition resets. The guard is `hasPendingTransactionalOffsets` in
`OffsetMetadataManager.cleanupExpiredOffsets`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z240ExpiryDespitePending(GroupRules):
    __slots__ = ()

    def is_spared(self, row: GroupOffsets, p: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z240ExpiryDespitePending,
    "PendingByOwnMarker",
    "OffsetsKept",
    source="G35; a mutant of OffsetMetadataManager.cleanupExpiredOffsets",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending",
)
