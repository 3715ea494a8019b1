"""Z201: no leader writes the set of the bootstrap snapshot.

Who was formatted without it observes and reads records, and never hears who votes. Of the kit's own
making: Kafka writes the set with the first record of a leader (V22).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z201BootstrapSetNotWritten(VoterRules):
    def writes_bootstrap_set(self, row: VoterRow) -> bool:
        return False


BUG = declared(
    __name__,
    Z201BootstrapSetNotWritten,
    "VotersAreKnown",
    source="V12, V22; a mutant",
    nodes=2,
    field="history",
    detectors=NO_CLIENT,
)
