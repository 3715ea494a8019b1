"""Z100: a static member that joins while the group knows it is refused, also under its own id.

It joined, its answer was lost, and it joins again: the instance is not released, it is told, and
gives up for ever. Apache Kafka 4.3.1 does so (pull request 23542 is open).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import RELEASED_EPOCH, Error, MemberRecord
from kraftcheck.reference.groups.rules import GroupRules


class Z100OwnInstanceRefused(GroupRules):
    def join_error(self, member: MemberRecord) -> Error:
        return "NONE" if member.epoch == RELEASED_EPOCH else "UNRELEASED_INSTANCE_ID"


BUG = declared(
    __name__,
    Z100OwnInstanceRefused,
    "NobodyGivesUp",
    source="G13; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="state of a consumer",
)
