"""Z242: a marker commits or drops the offsets of all producers.

Two members send offsets in transactions of their own; the marker of one decides those of the
other. `OffsetMetadataManager.pendingTransactionalOffsets` keeps them by producer id. A mutant; no
report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import TransactionMarker
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets, PendingOffset


class Z242AnyMarkerCommits(GroupRules):
    __slots__ = ()

    def of_marker(self, row: GroupOffsets, marker: TransactionMarker) -> tuple[PendingOffset, ...]:
        return row.pending


BUG = declared(
    __name__,
    Z242AnyMarkerCommits,
    "PendingByOwnMarker",
    source="G32; a mutant of OffsetMetadataManager.replayEndTransactionMarker",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending (producer)",
)
