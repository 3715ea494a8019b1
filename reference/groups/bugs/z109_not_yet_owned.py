"""Z109: a member says that it has what it has acknowledged, and not what it is about to take.

A heartbeat that says all, as it does after a lost answer, lacks what the member is just taking; its
coordinator takes that for revoked, and gives it to another one. Then both fetch it. Nothing has to
be lost: an acknowledgement that is said after the next assignment was told does the same. Apache
Kafka 4.3.1 does so.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupMember


class Z109NotYetOwned(GroupRules):
    def report(self, row: GroupMember) -> tuple[int, ...]:
        return row.current


BUG = declared(
    __name__,
    Z109NotYetOwned,
    "SingleOwner",
    "OwnedIsHeld",
    source="G23; Apache Kafka 4.3.1",
    nodes=2,
    detectors=NO_CLIENT,
    field="owned of a member",
)
