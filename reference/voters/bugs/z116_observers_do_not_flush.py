"""Z116 (KAFKA-17332): an observer does not flush what it fetches.

Made a voter, it is counted for the offsets that it has fetched, and a crash takes what it has not
flushed: less than a majority holds what is committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z116ObserversDoNotFlush(VoterRules):
    def flushes_as_observer(self, row: VoterRow) -> bool:
        return False


BUG = declared(
    __name__,
    Z116ObserversDoNotFlush,
    "WouldBeVoterFlushed",
    "CommittedSurvives",
    "LeaderCompleteness",
    source="V21; KAFKA-17332, PR 16907",
    year=2024,
    nodes=2,
    lossy=True,
    field="flushed",
    detectors=NO_CLIENT,
)
