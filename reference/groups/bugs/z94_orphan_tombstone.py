"""Z94 (KAFKA-17306): what a tombstone removes has to be there, or the load fails.

Of a member that was removed nothing but tombstones may be left in a cleaned log.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules


class Z94OrphanTombstone(GroupRules):
    def ignores_orphan(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z94OrphanTombstone,
    "LoadSucceeds",
    source="G50",
    year=2024,
    nodes=1,
    field="state of a broker",
    detectors=NO_CLIENT,
)
