"""Z91 (KAFKA-16249): an acknowledgement is not looked at where a new target is made.

The member has said what it has, once, and will not say so again: its coordinator waits until the
rebalance timeout removes it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import GroupHeartbeat, MemberRecord
from kraftcheck.reference.groups.rules import GroupRules


class Z91AckMissed(GroupRules):
    def revocation_blocks(self, member: MemberRecord, m: GroupHeartbeat, retargeted: bool) -> bool:
        return retargeted or not self.has_revoked(member.pending, m)


BUG = declared(
    __name__,
    Z91AckMissed,
    "AckIsHeard",
    source="G16, G17",
    year=2024,
    nodes=2,
    detectors=NO_CLIENT,
    field="state of a member",
)
