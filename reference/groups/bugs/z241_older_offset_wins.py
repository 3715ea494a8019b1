"""Z241: a transaction's offset becomes the group's although another one was committed after it.

An administrator, or a member that does not wait for stable offsets, commits 7 after a transaction
has sent 5; the transaction commits, and the group goes back to 5. The guard is the comparison of
record offsets in `OffsetMetadataManager.replayEndTransactionMarker`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import PendingOffset


class Z241OlderOffsetWins(GroupRules):
    __slots__ = ()

    def is_newest(self, each: PendingOffset) -> bool:
        return True


BUG = declared(
    __name__,
    Z241OlderOffsetWins,
    "HandoverNoRegress",
    source="G32; a mutant of OffsetMetadataManager.replayEndTransactionMarker",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending (overtaken), committed",
)
