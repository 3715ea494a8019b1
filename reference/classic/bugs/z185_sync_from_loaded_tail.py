"""Z185: a member that asks a stable group for its assignment is told it before it is committed.

A coordinator that has loaded a group calls it stable, whatever of its log is committed. Kafka
answers a SyncGroup of such a group at once (GroupMetadataManager.classicGroupSyncToClassicGroup,
4.3.1), where a heartbeat, and a SyncGroup of a group of the new protocol, wait until what was
loaded is committed. If the next coordinator lacks that, the member has an assignment that no log
has.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.classic.rules import ClassicRules
from kraftcheck.reference.classic.types import ClassicCoordinator


class Z185SyncFromLoadedTail(ClassicRules):
    __slots__ = ()

    def is_told(self, row: ClassicCoordinator) -> bool:
        return row.state == "Stable" or super().is_told(row)


BUG = declared(
    __name__,
    Z185SyncFromLoadedTail,
    "AssignmentIsCommitted",
    source="G39; read in 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="assignments",
)
