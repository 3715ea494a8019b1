"""Z38: the controller does not ask which incarnation was in sync.

A replica has caught up, and its leader proposes it. Before the proposal arrives it stops uncleanly
and comes back without part of its log; the proposal adds it, and it is elected.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import Member
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import Registration


class Z38BrokerEpochNotChecked(PartitionRules):
    def isr_member_epoch_matches(self, registration: Registration, member: Member) -> bool:
        return True


BUG = declared(
    __name__,
    Z38BrokerEpochNotChecked,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KIP-903; KAFKA-14139, PR 13408, PR 13489",
    year=2023,
    nodes=2,
    lossy=True,
    field="remotes (brokerEpoch), registrations",
)
