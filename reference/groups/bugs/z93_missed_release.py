"""Z93 (KAFKA-19862): a partition is taken only by who finds it free, also in a replay.

A log may be cleaned while it is loaded: the entry by which the last owner gave the partition up may
be gone when the load comes there. The replay throws, and the group has no coordinator.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import UNKNOWN
from kraftcheck.reference.groups.rules import GroupRules


class Z93MissedRelease(GroupRules):
    def may_take(self, held_epoch: int, epoch: int) -> bool:
        return held_epoch == UNKNOWN


BUG = declared(
    __name__,
    Z93MissedRelease,
    "LoadSucceeds",
    source="G50",
    year=2025,
    nodes=2,
    field="state of a broker",
    detectors=NO_CLIENT,
)
