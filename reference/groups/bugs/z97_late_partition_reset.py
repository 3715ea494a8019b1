"""Z97 (KAFKA-17674): a partition that is taken during an update of positions is reset.

What was committed is asked for, and heard; then all that have no position yet are reset, and one
is among them that was not asked for.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z97LatePartitionReset(GroupRules):
    def to_reset(self, row: GroupOffsets, rest: tuple[int, ...]) -> tuple[int, ...]:
        return rest


BUG = declared(
    __name__,
    Z97LatePartitionReset,
    "StartAtCommitted",
    "CommitsHandedOut",
    source="G28",
    year=2024,
    nodes=1,
    detectors=NO_CLIENT,
    field="positions",
)
