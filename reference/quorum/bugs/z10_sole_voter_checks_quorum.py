"""Z10 (KAFKA-16144): check-quorum with one voter.

A sole voter gets no fetches, so its check-quorum timer expires and it resigns, again and again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules


class Z10SoleVoterChecksQuorum(QuorumRules):
    def check_quorum_applies(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z10SoleVoterChecksQuorum,
    "FollowedLeaderStays",
    source="KAFKA-16144, PR 15235",
    year=2024,
    klass="liveness",
    nodes=1,
    boundary="check_quorum_applies; when check-quorum times out",
    field="role, fetchedVoters",
)
