"""Z220: what transactions have sent of a topic stays when it is deleted.

Offsets have the topic's name. So their marker commits them of the topic that is made anew with it,
and who takes that begins where the old one had come to. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets, PendingOffset


class Z220PendingOutlives(GroupRules):
    __slots__ = ()

    def pending_after_tombstone(self, row: GroupOffsets, p: int) -> tuple[PendingOffset, ...]:
        return row.pending


BUG = declared(
    __name__,
    Z220PendingOutlives,
    "NothingOfDeleted",
    source="G36; a mutant",
    nodes=1,
    detectors=NO_CLIENT,
    field="pending",
)
