"""Z14 (KAFKA-16529): a restarted voter forgets the leader of its epoch.

Before 4.0 the quorum-state file kept either a vote or a leader. A voter that restarts and does not
know the leader's endpoints starts Unattached; if it forgets the leader too, nothing keeps it from
voting for a loser of the same epoch.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import NOBODY, QuorumStateFile, Role, Row


class Z14LeaderForgotten(QuorumRules):
    def persisted_quorum_state(self, row: Row) -> QuorumStateFile:
        voted = row.voted if row.leader == NOBODY else NOBODY
        return QuorumStateFile(row.epoch, row.leader, voted)

    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Unattached" if role == "Follower" else role

    def remembered_leader(self, quorum_state: QuorumStateFile) -> int:
        return NOBODY


BUG = declared(
    __name__,
    Z14LeaderForgotten,
    "VoteOnce",
    "ElectionSafety",
    "NoIllegalState",
    source="KAFKA-16529, PR 16454",
    year=2024,
    detectors=NO_CLIENT,
    field="leader, voted, quorumState",
)
