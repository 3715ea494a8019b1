"""Z105 (KAFKA-10284): the new id of a static member that replaces another is in memory only.

The next coordinator knows the old one: the new member is fenced, and the old one is not.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules


class Z105ReplacementNotRecorded(GroupRules):
    def records_replacement(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z105ReplacementNotRecorded,
    "ReplayEqual",
    source="G13",
    year=2020,
    nodes=1,
    detectors=NO_CLIENT,
    field="members of a broker",
)
