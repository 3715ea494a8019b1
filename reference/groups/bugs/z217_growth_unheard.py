"""Z217: another partition of a topic makes no new epoch.

So no target is made, and nobody has the partition until something else changes. A mutant; no report
is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import GroupRecord
from kraftcheck.reference.groups.rules import GroupRules


class Z217GrowthUnheard(GroupRules):
    __slots__ = ()

    def changes_metadata(self, group: GroupRecord, p: int) -> bool:
        return False


BUG = declared(
    __name__,
    Z217GrowthUnheard,
    "TargetIsWhole",
    source="G14; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="epoch of the group",
)
