"""Z181: when a group goes back to the classic protocol, targets are recorded as what members have.

Another one may have yet to give them up. Who is restarted with the classic protocol is given them
at once, and so is who has the group migrated again. Apache Kafka 4.3.1 does so
(finds/Z181/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import MigratedMember


class Z181TargetsTakenForOwned(GroupRules):
    def assignment_after_downgrade(self, member: MigratedMember) -> tuple[int, ...]:
        return member.target


BUG = declared(
    __name__,
    Z181TargetsTakenForOwned,
    "OneOwnerInMigration",
    source="G45, G47; Apache Kafka 4.3.1",
    nodes=2,
    detectors=NO_CLIENT,
    field="assigned",
)
