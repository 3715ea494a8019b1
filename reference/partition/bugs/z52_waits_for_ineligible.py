"""Z52: the high watermark waits for a replica that cannot join.

A replica that has caught up and left the ISR because it stops, or is fenced, is waited for until
its lag time is over.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z52WaitsForIneligible(PartitionRules):
    def is_waited_for(self, row: BrokerRow, r: int) -> bool:
        remote = row.remotes[self.position[r]]
        return remote.caught_up or remote.end_offset == len(row.log)


BUG = declared(
    __name__,
    Z52WaitsForIneligible,
    "EventuallyWriteAccepted",
    source="KAFKA-15021, PR 13765",
    year=2023,
    klass="liveness",
    nodes=2,
    field="remotes (caughtUp), image",
)
