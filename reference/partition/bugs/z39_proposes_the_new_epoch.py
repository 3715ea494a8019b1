"""Z39: judged by the old fetch, proposed with the new broker epoch.

The leader judges a replica by what it fetched, and fills the broker epoch in only when it writes
the request, from its metadata. If the replica has begun anew in between, with less in its log, the
check of Z38 finds nothing.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import AlterPartitionRequest, Member
from kraftcheck.reference.partition.types import BrokerRow


class Z39ProposesTheNewEpoch(BrokerHandlers):
    """The request is written by what metadata says now, and not by what was proposed."""

    def alter_partition_request(self, n: int, row: BrokerRow) -> AlterPartitionRequest:
        known = row.image.brokers
        isr = tuple(
            Member(member.broker, known[self.position[member.broker]].epoch)
            for member in row.pending.isr
        )
        return replace(super().alter_partition_request(n, row), isr=isr)


BUG = declared(
    __name__,
    Z39ProposesTheNewEpoch,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KAFKA-15221, PR 14053",
    year=2023,
    nodes=2,
    lossy=True,
    boundary="alter_partition_request; propose / send",
    field="pending (members' epochs) apart from alterRequest",
)
