"""Z115: a set is in force when it is known to be committed.

A leader has committed a removal by the old majority; who has not heard of it elects by the old set,
who has by the new one, and the two majorities need not meet. The set must be in force as soon as it
is in the log.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z115InForceWhenCommitted(VoterRules):
    def voters_of(self, row: VoterRow) -> tuple[int, ...]:
        known = max(row.quorum.high_watermark, 0)
        return [each.voters for each in row.history if each.offset < known][-1]


BUG = declared(
    __name__,
    Z115InForceWhenCommitted,
    "ElectionSafety",
    "LeaderCompleteness",
    "NoIllegalState",
    "CommittedSurvives",
    source="V11, V18; a mutant",
    nodes=4,
    field="quorum",
    detectors=NO_CLIENT,
)
