"""Known bugs of consumer groups, by the numbers of bugs.toml."""

from __future__ import annotations

from kraftcheck.reference.groups.classic.rules import Claims, ClassicRules, claims_of
from kraftcheck.reference.groups.classic.types import ClassicCoordinator


class Z99NewestClaimsOnly(ClassicRules):
    def owners_by_claim(self, claims: Claims, p: int) -> tuple[int, ...]:
        newest = max(c.generation for c in claims)
        return tuple(sorted(c.member for c in claims_of(claims, p) if c.generation == newest))


class Z185SyncFromLoadedTail(ClassicRules):
    __slots__ = ()

    def is_told(self, row: ClassicCoordinator) -> bool:
        return row.state == "Stable" or super().is_told(row)
