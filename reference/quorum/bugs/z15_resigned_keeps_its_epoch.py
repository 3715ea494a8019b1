"""Z15 (KAFKA-18379): a resigned leader stays in its epoch.

Its peers still name it leader of that epoch, so it is told to follow itself.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules


class Z15ResignedKeepsItsEpoch(QuorumRules):
    def epoch_after_resigned(self, epoch: int) -> int:
        return epoch


BUG = declared(
    __name__,
    Z15ResignedKeepsItsEpoch,
    "NoIllegalState",
    "EventuallyLeaderElected",
    source="KAFKA-18379, PR 18789, PR 19236",
    year=2025,
    detectors=NO_CLIENT,
    field="epoch, role",
)
