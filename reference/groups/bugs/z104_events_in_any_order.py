"""Z104 (KAFKA-10614): elections and resignations count in the order in which they are heard of.

A resignation that is heard of after the next election ends the tenure that this began: a leader has
no coordinator. An election that is heard of late begins one where nobody leads.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import LeaderChange
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupLoader


class Z104EventsInAnyOrder(GroupRules):
    def is_outdated_event(self, row: GroupLoader, event: LeaderChange) -> bool:
        return False


BUG = declared(
    __name__,
    Z104EventsInAnyOrder,
    "Coordinated",
    source="G6, G7",
    year=2020,
    nodes=1,
    field="state of a broker",
    detectors=NO_CLIENT,
)
