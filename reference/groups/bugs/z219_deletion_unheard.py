"""Z219: of topics only those are looked at that are there, so that a deletion makes no new epoch.

No target is made, and what was of the topic stays with its members until something else changes. A
mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import GroupRecord
from kraftcheck.reference.groups.rules import GroupRules


class Z219DeletionUnheard(GroupRules):
    __slots__ = ()

    def changes_metadata(self, group: GroupRecord, p: int) -> bool:
        return p not in group.grown and any(p in member.subscribed for member in group.members)


BUG = declared(
    __name__,
    Z219DeletionUnheard,
    "TargetIsWhole",
    source="G14; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="epoch of the group",
)
