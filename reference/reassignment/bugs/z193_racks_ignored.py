"""Z193: the placer does not look at racks.

Replicas of a new partition are in one rack, and are lost with it, where another rack has brokers.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules


class Z193RacksIgnored(ReassignmentRules):
    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        return True


BUG = declared(
    __name__,
    Z193RacksIgnored,
    "SpreadOverRacks",
    source="R9; a mutant",
    nodes=4,
    field="partitions",
    detectors=NO_CLIENT,
)
