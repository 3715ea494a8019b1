"""Z134: a replica leaves, and the leader epoch stays.

Fetches of the replica that come late are not fenced: they count for the high watermark, and it may
be proposed for the ISR again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import MovingPartition


class Z134SameEpochWithoutReplica(ReassignmentRules):
    def leader_epoch_bumped(self, old: MovingPartition, new: MovingPartition) -> bool:
        return new.leader != old.leader


BUG = declared(
    __name__,
    Z134SameEpochWithoutReplica,
    "EpochsGrow",
    source="C1, R3; review of PR 10753",
    year=2021,
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
