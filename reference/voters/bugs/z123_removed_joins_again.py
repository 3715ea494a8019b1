"""Z123 (KAFKA-19850): a voter that was removed joins again by itself.

Where controllers join by themselves, one that was removed and runs on asks to be a voter again as
soon as it has read that it is none. Kafka documents it: whoever removes a controller is to stop it
first.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z123RemovedJoinsAgain(VoterRules):
    def joins_by_itself(self, n: int, row: VoterRow) -> bool:
        return self.kraft_version_of(row) == 1 and n not in self.voters_of(row)


BUG = declared(
    __name__,
    Z123RemovedJoinsAgain,
    "RemovedStaysOut",
    source="V24; KAFKA-19850, PRs 20859, 21025",
    year=2025,
    nodes=3,
    field="asks",
    detectors=NO_CLIENT,
)
