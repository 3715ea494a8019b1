"""Z99 (KAFKA-13419, KAFKA-14639): only claims of the largest generation count.

A member that missed a generation still has its partitions, and says so when it joins. The assignor
takes them for free and gives them to another one in the same round: both have them, until the
first hears of it. KAFKA-12984 had made claims of older generations void.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.classic.rules import Claims, ClassicRules, claims_of


class Z99NewestClaimsOnly(ClassicRules):
    def owners_by_claim(self, claims: Claims, p: int) -> tuple[int, ...]:
        newest = max(c.generation for c in claims)
        return tuple(sorted(c.member for c in claims_of(claims, p) if c.generation == newest))


BUG = declared(
    __name__,
    Z99NewestClaimsOnly,
    "SingleOwner",
    source="G44",
    year=2021,
    nodes=3,
    detectors=NO_CLIENT,
    field="assignments",
)
