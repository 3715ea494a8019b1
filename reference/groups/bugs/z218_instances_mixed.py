"""Z218: any two static members are taken for those of one instance id.

So a member that has its instance id for itself is refused while another static member is there, and
gives up; or takes over what is kept for that one. A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules


class Z218InstancesMixed(GroupRules):
    __slots__ = ()

    def shares_instance(self, m: int, n: int) -> bool:
        static = [each for instance in self.constants.static for each in instance]
        return m in static and n in static


BUG = declared(
    __name__,
    Z218InstancesMixed,
    "NobodyGivesUp",
    source="G13; a mutant",
    nodes=2,
    detectors=NO_CLIENT,
    field="members of the group",
)
