"""Z102: offsets of a group that has just become empty expire, if their commit is old.

Retention counts from the commit and not from when the group became empty. Groups of the classic
protocol had this until KIP-211; those of the consumer protocol have it in Apache Kafka 4.3.1.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.groups.types import CommittedOffset, GroupOffsets


class Z102ExpiryFromCommit(GroupRules):
    def expiry_base(self, row: GroupOffsets, each: CommittedOffset) -> int:
        return each.time


BUG = declared(
    __name__,
    Z102ExpiryFromCommit,
    "OffsetsKept",
    source="G35; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
