"""Z12 (KAFKA-17641): followers always refuse a pre-vote.

After the leader dies, B and C alternate between Follower and Prospective for ever, each refusing
the other. The cure is to refuse only after one successful fetch in this epoch.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z12FollowersRefusePreVotes(QuorumRules):
    def follower_grants_pre_vote(self, row: Row, m: VoteRequest) -> bool:
        return False


BUG = declared(
    __name__,
    Z12FollowersRefusePreVotes,
    "EventuallyLeaderElected",
    "NotStuckInProspective",
    source="KAFKA-17641, PR 17807",
    year=2024,
    klass="liveness",
    field="hasFetched",
)
