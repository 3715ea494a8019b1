"""Z117: check-quorum spares a leader where there is one voter, be that the leader or not.

A leader that is removed from a set of two waits for the fetches of the one that stays, and leads
until that has committed the removal. If it never hears of that voter it should resign. Apache
Kafka 4.3.1 asks only whether there is one voter (LeaderState.timeUntilCheckQuorumExpires).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z117SoleVoterElsewhere(VoterRules):
    def check_quorum_binds(self, n: int, row: VoterRow) -> bool:
        return len(self.voters_of(row)) != 1


BUG = declared(
    __name__,
    Z117SoleVoterElsewhere,
    "IsolatedLeaderResigns",
    source="V20; Apache Kafka 4.3.1, LeaderState; relatives KAFKA-16144, KAFKA-16531",
    klass="liveness",
    nodes=2,
    field="role",
    detectors=("tlc",),
    alone="a timer that is not armed leaves only steps that are allowed, and runs have no clocks",
)
