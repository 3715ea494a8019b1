"""Z56: an answer to the registration of an earlier incarnation is believed.

A broker that has started again takes the broker epoch of its former self, and what it fetches is
counted for that one.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import RegisterBrokerRequest, RegisterBrokerResponse
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z56IncarnationNotChecked(PartitionRules):
    def registration_accepted(self, row: BrokerRow, m: RegisterBrokerResponse) -> bool:
        return isinstance(row.controller_request, RegisterBrokerRequest)


BUG = declared(
    __name__,
    Z56IncarnationNotChecked,
    "LeaderCandidateCompleteness",
    "WeakIsr",
    source="C2",
    nodes=2,
    lossy=True,
    boundary="registration_accepted; registration / its answer",
    field="incarnation, brokerEpoch",
)
