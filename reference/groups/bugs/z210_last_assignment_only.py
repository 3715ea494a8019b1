"""Z210: a group that becomes one of the consumer protocol forgets what members have yet to give up.

A cooperative member of the classic protocol fetches on until it has heard what it is assigned and
polls. If the group is migrated before that, what it is to give up is free for another one. Apache
Kafka 4.3.1 does so (finds/Z210/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import MigratedMember


class Z210LastAssignmentOnly(GroupRules):
    def pending_after_upgrade(self, member: MigratedMember) -> tuple[int, ...]:
        return ()


BUG = declared(
    __name__,
    Z210LastAssignmentOnly,
    "OneOwnerInMigration",
    source="G44, G45; Apache Kafka 4.3.1",
    nodes=2,
    detectors=NO_CLIENT,
    field="pending",
)
