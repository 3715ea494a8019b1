"""Z09 (KAFKA-15489): a leader never checks whether it still has a quorum.

A leader that can send but gets no fetches stays leader. Brokers attached to it see no progress,
although a majority lives.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules


class Z09NoCheckQuorum(QuorumRules):
    def check_quorum_applies(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z09NoCheckQuorum,
    "IsolatedLeaderResigns",
    "ValuesEventuallyAcked",
    source="KAFKA-15489, PR 14428",
    year=2023,
    klass="liveness",
    detectors=(
        "tlc",
        "invariants",
    ),
    boundary="check_quorum_applies; when check-quorum times out",
    field="role, fetchedVoters",
)
