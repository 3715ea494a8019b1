"""Z190: a set that is made of another one forgets to where its voters have moved.

A voter that came back with other listeners has told its leader, and the set says so. The next set
has only what the one who asks for it says.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.voters.rules import VoterRules
from kraftcheck.reference.voters.types import VoterRow


class Z190ForgetsListeners(VoterRules):
    def moved_after(
        self, row: VoterRow, voters: tuple[int, ...], told: tuple[int, ...]
    ) -> tuple[int, ...]:
        return tuple(sorted({*told} & {*voters}))


BUG = declared(
    __name__,
    Z190ForgetsListeners,
    "UpdatesStay",
    source="V17; a mutant",
    nodes=2,
    field="quorum",
    detectors=NO_CLIENT,
)
