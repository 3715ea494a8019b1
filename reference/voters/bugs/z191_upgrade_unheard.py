"""Z191: kraft.version is upgraded before the leader has heard of each voter.

The set that comes with version 1 names each voter by id and directory. Of whom the leader has not
heard in its epoch, it knows none.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z191UpgradeUnheard(VoterRules):
    def every_voter_heard(self, n: int, row: VoterRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z191UpgradeUnheard,
    "NoIllegalJoin",
    source="V23; a mutant",
    nodes=2,
    field="history",
    detectors=NO_CLIENT,
)
