"""Z11 (KAFKA-16530): a leader outside the voter set counts itself.

A leader that has removed itself is counted for the high watermark as if it were a voter, so that
less than a majority of the voters commits.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z11CountsItself(VoterRules):
    def counts_itself(self, n: int, row: VoterRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z11CountsItself,
    "CommittedSurvives",
    "LeaderCompleteness",
    source="V20; KAFKA-16530, PR 16079",
    field="quorum",
    detectors=NO_CLIENT,
)
