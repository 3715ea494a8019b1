"""Z96 (KAFKA-18641): a consumer commits what it has fetched and not handed out yet.

A commit in the background reads a position that has been moved for records that the application
is about to get. If it ends now, nobody reads them again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import FetchPosition


class Z96PositionsRunAhead(GroupRules):
    def committable(self, position: FetchPosition) -> int:
        return position.fetched


BUG = declared(
    __name__,
    Z96PositionsRunAhead,
    "CommitsHandedOut",
    source="G29",
    year=2025,
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
