"""Every decision of groups of the classic protocol that has a name: the twin of ClassicRules.tla.

Law of this file: a rule is a pure function of its arguments and the constants; it sends nothing and
changes nothing. Each method has the name of its operator in snake case, the same parameters and the
same place in the order. A bug replaces some of them in a subclass and nothing else.

Sets come and go as sorted tuples.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from kraftcheck.reference.groups.classic.messages import (
    NO_GENERATION,
    Claim,
    ClassicHeartbeatResponse,
    ClassicImage,
    ClassicRecord,
    JoinGroup,
    JoinGroupResponse,
    SyncGroupResponse,
)
from kraftcheck.reference.groups.classic.types import (
    ClassicCoordinator,
    ClassicMember,
    ClassicState,
    Constants,
)

Claims = tuple[Claim, ...]
Owner = Mapping[int, int]
"""Of each partition, who is to have it."""


def claims_of(claims: Claims, p: int) -> Claims:
    return tuple([c for c in claims if p in c.owned])


class ClassicRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- Coordinator ---

    def next_generation(self, generation: int) -> int:
        """G38."""
        return generation + 1

    def changes_metadata(self, member: ClassicRecord, m: JoinGroup) -> bool:
        """G38. What a member says of itself is not what it said when it joined."""
        return (m.owned, m.claimed) != (member.owned, member.claimed)

    def begins_rebalance(self, row: ClassicCoordinator, m: JoinGroup) -> bool:
        """G38.

        A member joins again, in a generation that has been joined by all: everybody is to join
        again. Else it is told of this generation once more.
        """
        if row.state not in ("Completing", "Stable"):
            return True
        member = row.members[self.constants.members.index(m.source)]
        leads = row.state == "Stable" and m.source == row.leader
        return leads or self.changes_metadata(member, m)

    def is_rebalance_late(self, state: ClassicState, member: ClassicRecord) -> bool:
        """G38, G39.

        Who has not joined, or not asked for its assignment, when the time to do so is over.
        """
        has_done = {"Preparing": member.joined, "Completing": member.syncing}
        return member.known and not has_done.get(state, True)

    def is_told(self, row: ClassicCoordinator) -> bool:
        """G3, G39.

        An assignment is told when it is committed, and who lives that nothing is new when all is
        that this was found in.
        """
        return not row.log.leader

    def loaded_state(self, image: ClassicImage) -> ClassicState:
        """G49. A group that is loaded: all of them have what was recorded last."""
        return "Stable" if any(member.known for member in image.members) else "Empty"

    # --- Assignor (G44) ---

    def owners_by_claim(self, claims: Claims, p: int) -> tuple[int, ...]:
        """Return the owners of a partition by the claims: those with the largest generation.

        If two have the same generation, both own it, and it is assigned to nobody before both have
        given it up (KAFKA-12984, KAFKA-14639).
        """
        of = claims_of(claims, p)
        newest = max([c.generation for c in of], default=NO_GENERATION)
        return tuple(sorted(c.member for c in of if c.generation == newest))

    def moved(self, claims: Claims, owner: Owner) -> tuple[int, ...]:
        """The partitions that would change hands."""
        owners = {p: self.owners_by_claim(claims, p) for p in self.constants.partitions}
        return tuple([p for p, of in owners.items() if of and owner[p] not in of])

    def is_balanced(self, claims: Claims, owner: Owner) -> bool:
        shares = [sum(n == c.member for n in owner.values()) for c in claims]
        return max(shares) <= min(shares) + 1

    def targets(self, claims: Claims) -> tuple[Owner, ...]:
        """Sticky: of the balanced ones, those that move the fewest."""
        partitions, members = self.constants.partitions, [c.member for c in claims]
        owners = (
            dict(zip(partitions, of, strict=True))
            for of in product(members, repeat=len(partitions))
        )
        balanced = [owner for owner in owners if self.is_balanced(claims, owner)]
        moves = [len(self.moved(claims, owner)) for owner in balanced]
        return tuple([o for o, n in zip(balanced, moves, strict=True) if n == min(moves)])

    def is_withheld(self, claims: Claims, n: int, p: int) -> bool:
        """G44. In the first round a partition that another one owns is withheld."""
        return self.constants.cooperative and {*self.owners_by_claim(claims, p)} - {n} != set()

    # --- Member ---

    def owned_while_joining(self, owned: tuple[int, ...]) -> tuple[int, ...]:
        """G43, G44. What a member has while it joins."""
        return owned if self.constants.cooperative else ()

    def owned_after_reset(self, owned: tuple[int, ...]) -> tuple[int, ...]:
        """G42. A member that is none any more, or not of this generation."""
        return ()

    def claimed_generation(self, row: ClassicMember) -> int:
        """G44.

        The generation that a member says its partitions are of: the one that it joined last.
        """
        return row.generation

    def joins_again(self, owned: tuple[int, ...], assigned: tuple[int, ...]) -> bool:
        """G44. Who has given something up joins again, so that others get it."""
        return self.constants.cooperative and {*owned} - {*assigned} != set()

    def is_awaited(
        self,
        row: ClassicMember,
        m: JoinGroupResponse | SyncGroupResponse | ClassicHeartbeatResponse,
    ) -> bool:
        """A response counts only for the request in flight."""
        return row.awaiting and m.correlation == row.correlation
