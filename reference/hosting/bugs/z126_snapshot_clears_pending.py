"""Z126: a snapshot that is loaded clears proposals that are on their way.

A delta from nothing has every partition, so each is made leader or follower again with the epochs
that it has: Z69 for all partitions of a broker at once. The leader forgets that the ISR which it
proposed may come to be. Apache Kafka 4.3.1 does so, on its classes; never tried live.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z126SnapshotClearsPending(HostingRules):
    def clears_pending(self, row: HostRow, by_snapshot: bool) -> bool:
        return by_snapshot or super().clears_pending(row, by_snapshot)


BUG = declared(
    __name__,
    Z126SnapshotClearsPending,
    "ProposalKept",
    source="V27; Apache Kafka 4.3.1, Partition.makeLeader; Z69",
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
