"""Z194: a leader takes a deposed controller for the present one.

The present controller accepts a proposal, and its answer is late or lost. The leader asks again,
and asks a controller that was deposed and does not know it. To that one the new member is still
fenced: INELIGIBLE_REPLICA. So the leader gives the proposal up, and its high watermark no longer
waits for a member of the ISR.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z194HearsDeposed(PartitionRules):
    def hears_deposed(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z194HearsDeposed,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "ReplicationQuorumSuperset",
    "StrongIsr",
    source="this kit, a mutant",
    nodes=2,
    boundary="hears_deposed; the answer of the present controller / that of a deposed one",
    field="pending",
    detectors=("tlc",),
    alone=(
        "runs of a partition have one controller; in those of a cluster each step is allowed, and "
        "what must come together is rare"
    ),
)
