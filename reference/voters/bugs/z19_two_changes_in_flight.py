"""Z19: two voter changes in flight.

A second change is appended before the first commits, and their majorities are disjoint.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import Refusal, VoterRow


class Z19TwoChangesInFlight(VoterRules):
    def change_refused(self, row: VoterRow) -> Refusal:
        return "" if self.own_epoch_committed(row) else "REQUEST_TIMED_OUT"


BUG = declared(
    __name__,
    Z19TwoChangesInFlight,
    "OneChangeAtATime",
    "NoIllegalJoin",
    "NoDisjointMajorities",
    "ElectionSafety",
    source="V14; KIP-853",
    field="history",
    detectors=NO_CLIENT,
)
