"""Z128: the end of a snapshot is taken for the last offset in it.

A controller that began with a snapshot takes a batch of one record that begins at the snapshot's
end for a part of it: when it has led and is deposed, it goes back to a state without that record,
and no record that follows brings it back. Apache Kafka 4.3.1 does so
(OffsetControlManager.endLoadSnapshot).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules


class Z128EndTakenForLast(SnapshotRules):
    def stable_after_snapshot(self, end: int) -> int:
        return end + 1


BUG = declared(
    __name__,
    Z128EndTakenForLast,
    "ControllerStateIsReplay",
    source="V29; Apache Kafka 4.3.1, OffsetControlManager.endLoadSnapshot",
    nodes=1,
    field="machine",
    detectors=NO_CLIENT,
)
