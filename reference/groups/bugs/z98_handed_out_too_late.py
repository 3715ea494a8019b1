"""Z98 (KAFKA-16460): records are handed out after the commit that goes before a revocation.

The next owner begins where that commit stands, and reads them again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z98HandedOutTooLate(GroupRules):
    def may_hand_out(self, row: GroupOffsets, p: int) -> bool:
        return True


BUG = declared(
    __name__,
    Z98HandedOutTooLate,
    "GivenUpIsCommitted",
    source="G24",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="positions",
)
