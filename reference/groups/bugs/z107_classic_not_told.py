"""Z107: a classic member looks whether there is a newer target, which perhaps nobody has made.

The last member of the consumer protocol has left a group that may not go back to the classic one.
The group's epoch grows, and no target is computed until somebody joins, which nobody is told to.
Apache Kafka 4.3.1 does so (finds/Z107/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupMigration, MigratedMember


class Z107ClassicNotTold(GroupRules):
    def tells_to_join(
        self, row: GroupMigration, member: MigratedMember, held: tuple[int, ...]
    ) -> bool:
        waits = member.assigned != member.target and not {*member.target} & {*held}
        return member.epoch < row.target_epoch or waits


BUG = declared(
    __name__,
    Z107ClassicNotTold,
    "NoOrphan",
    source="G46; Apache Kafka 4.3.1",
    nodes=2,
    detectors=NO_CLIENT,
    field="told",
)
