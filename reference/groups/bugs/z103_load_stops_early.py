"""Z103 (KAFKA-5600): a load ends after the first part of the log.

What stands in later segments is not read: members, and what they have, are as they once were.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules


class Z103LoadStopsEarly(GroupRules):
    def is_loaded(self, position: int, end_offset: int) -> bool:
        return position > 0 or position == end_offset


BUG = declared(
    __name__,
    Z103LoadStopsEarly,
    "ReplayEqual",
    source="G6",
    year=2017,
    nodes=1,
    field="members of a broker",
    detectors=NO_CLIENT,
)
