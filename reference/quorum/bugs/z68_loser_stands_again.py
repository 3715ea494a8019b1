"""Z68 (found with this kit; an open question for Kafka): a loser stands again in its epoch.

On restart the vote is looked at before the leader. A candidate that lost and followed the winner
keeps its vote for itself; after a restart it stands again in the same epoch, now with records of
that epoch in its log. A vote request like that makes no sense to anybody, and the answer
INVALID_REQUEST stops the node.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import QuorumStateFile, Role


class Z68LoserStandsAgain(QuorumRules):
    def startup_role(self, n: int, quorum_state: QuorumStateFile, last_epoch: int) -> Role:
        role = super().startup_role(n, quorum_state, last_epoch)
        return "Candidate" if role == "Follower" and quorum_state.voted == n else role


BUG = declared(
    __name__,
    Z68LoserStandsAgain,
    "NoIllegalState",
    source="this kit; QuorumState.initialize with the vote kept within the epoch",
    year=2026,
    detectors=NO_CLIENT,
    field="role, voted, leader",
)
