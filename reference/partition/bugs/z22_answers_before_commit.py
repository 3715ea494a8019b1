"""Z22: the controller answers before it has committed.

The reply goes out when the records are appended. A controller that is deposed loses them, and
somebody has acted on them. Where the controller commits at once (a partition by itself) nothing
shows it; in a cluster, and beside a deposed controller, it does.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z22AnswersBeforeCommit(PartitionRules):
    def answers_before_commit(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z22AnswersBeforeCommit,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "StrongIsr",
    source="C0",
    nodes=2,
    boundary="answers_before_commit; controller write / reply",
    field="isr, partitionEpoch",
    detectors=("tlc",),
    alone=(
        "runs of a partition have a controller that commits at once; in those of a cluster the "
        "answer comes before it was sent"
    ),
)
