"""Z192: voters are added and removed under kraft.version 0.

The others have read their voters from their configuration, and have no record of version 1 by which
they would take them from the log.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z192ChangesConfigured(VoterRules):
    def changes_voters(self, row: VoterRow) -> bool:
        return True


BUG = declared(
    __name__,
    Z192ChangesConfigured,
    "AdjacentSets",
    source="V14, V23; a mutant",
    nodes=2,
    field="history",
    detectors=NO_CLIENT,
)
