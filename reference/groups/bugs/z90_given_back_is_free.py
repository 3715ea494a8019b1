"""Z90 (KAFKA-16147): a partition that is given back before it was revoked is free for another.

What a member has no more to revoke is taken from what is held after what it was given is put
there, and these may be the same partitions. Nobody seems to have them, and the next one who wants
them gets them.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import MemberRecord
from kraftcheck.reference.groups.rules import GroupRules, as_set, holding


class Z90GivenBackIsFree(GroupRules):
    def held_after(
        self, held: tuple[int, ...], before: MemberRecord, after: MemberRecord
    ) -> tuple[int, ...]:
        added = ({*held} - {*before.assigned}) | holding(after)
        return as_set(added - ({*before.pending} - {*after.pending}))


BUG = declared(
    __name__,
    Z90GivenBackIsFree,
    "ServerSingleOwner",
    "HeldIsAssigned",
    "Withheld",
    source="G16",
    year=2024,
    nodes=2,
    detectors=NO_CLIENT,
    field="held of a group",
)
