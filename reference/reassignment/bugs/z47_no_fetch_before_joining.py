"""Z47: no fetch is needed in this epoch before joining.

A replica is removed and added again in one metadata update; the leader reuses what it knew of the
replica, whose log was wiped.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import LeaderNotes, MovingPartition


class Z47NoFetchBeforeJoining(ReassignmentRules):
    def keeps_end_offsets(self, known: LeaderNotes, partition: MovingPartition) -> bool:
        return True


BUG = declared(
    __name__,
    Z47NoFetchBeforeJoining,
    "LeaderCandidateCompleteness",
    source="KIP-966",
    nodes=3,
    field="leaders",
    detectors=NO_CLIENT,
)
