"""Z244: a group is deleted although it has members.

Its offsets go, and what transactions have sent; its members go on as if nothing had happened, and
who takes a partition next resets. The guard is `validateDeleteGroup` of the groups, asked by
`GroupCoordinatorShard.deleteGroups`. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z244LiveGroupDeleted(GroupRules):
    __slots__ = ()

    def may_delete_group(self, row: GroupOffsets) -> bool:
        return True


BUG = declared(
    __name__,
    Z244LiveGroupDeleted,
    "OffsetsKept",
    source="G37; a mutant of GroupCoordinatorShard.deleteGroups",
    nodes=1,
    detectors=NO_CLIENT,
    field="group",
)
