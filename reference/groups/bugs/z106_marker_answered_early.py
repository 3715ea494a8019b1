"""Z106 (KAFKA-17507): a marker is answered before the group's coordinator has done what it says.

The next transaction begins, and its offsets take the place of those that are to be committed;
these are lost, or what is not decided yet is committed with them. Mended in 3.9.1 and 4.0 (pull
request 18168).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z106MarkerAnsweredEarly(GroupRules):
    def is_marker_answered(self, row: GroupOffsets) -> bool:
        return True


BUG = declared(
    __name__,
    Z106MarkerAnsweredEarly,
    "PendingByOwnMarker",
    source="KAFKA-17507",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
