"""Z215: who joins under an instance id replaces the member that has it, left or not.

The classic protocol does so: the newer one wins. With the consumer protocol the older one fetches
on, and is fenced when it is heard of next. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import JOIN_EPOCH, Error, GroupHeartbeat, MemberRecord
from kraftcheck.reference.groups.rules import GroupRules


class Z215StaticTakenOver(GroupRules):
    __slots__ = ()

    def instance_error(self, holder: MemberRecord, m: GroupHeartbeat) -> Error:
        return "NONE" if m.epoch == JOIN_EPOCH else "FENCED_INSTANCE_ID"


BUG = declared(
    __name__,
    Z215StaticTakenOver,
    "ReplacedHasLeft",
    source="G13; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="members of the group",
)
