"""Z216: what is kept for a static member that has left for a while is free for others.

Epoch -2 is taken for none. Another member is given the partition, and then the static one is back.
A mutant; no report is known.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import MemberRecord
from kraftcheck.reference.groups.rules import GroupRules, as_set, holding


class Z216KeptIsFree(GroupRules):
    __slots__ = ()

    def held_after(
        self, held: tuple[int, ...], before: MemberRecord, after: MemberRecord
    ) -> tuple[int, ...]:
        return as_set(({*held} - holding(before)) | (set() if after.epoch < 0 else holding(after)))


BUG = declared(
    __name__,
    Z216KeptIsFree,
    "ServerSingleOwner",
    "HeldIsAssigned",
    "Withheld",
    "SingleOwner",
    source="G16, G19; a mutant",
    nodes=3,
    detectors=NO_CLIENT,
    field="held",
)
