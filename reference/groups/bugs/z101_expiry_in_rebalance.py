"""Z101 (KAFKA-13636): offsets of a group that rebalances expire.

What it subscribes to is not known then, and is taken for nothing: offsets of topics that it reads
are forgotten.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import GroupOffsets


class Z101ExpiryInRebalance(GroupRules):
    def may_expire(self, row: GroupOffsets) -> bool:
        return row.group != "Stable"


BUG = declared(
    __name__,
    Z101ExpiryInRebalance,
    "OffsetsKept",
    source="G35",
    year=2022,
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
