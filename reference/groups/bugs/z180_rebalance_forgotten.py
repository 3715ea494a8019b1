"""Z180: a group goes back to the classic protocol in a generation that its members are in.

That they are to join again is known in memory only. If another broker coordinates the group before
they have heard of it, what the member that left has had is nobody's. Apache Kafka 4.3.1 does so
(finds/Z180/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupMigration


class Z180RebalanceForgotten(GroupRules):
    def downgraded_generation(self, row: GroupMigration) -> int:
        return row.epoch


BUG = declared(
    __name__,
    Z180RebalanceForgotten,
    "NoOrphan",
    source="G47, G49; Apache Kafka 4.3.1",
    nodes=2,
    detectors=NO_CLIENT,
    field="epoch",
)
