"""Z37: a broker that is fenced or stops may join the ISR.

Neither the leader nor the controller asks whether a member is active. The high watermark then waits
for it, or it is elected while it dies.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.partition.log import UNDEFINED
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow, Registration


class Z37InactiveMayJoin(PartitionRules):
    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        return row.remotes[self.position[r]].broker_epoch != UNDEFINED

    def isr_member_active(self, registration: Registration) -> bool:
        return True


BUG = declared(
    __name__,
    Z37InactiveMayJoin,
    "ValidControllerState",
    source="KIP-841; KAFKA-13916, PR 12181, PR 12240",
    year=2022,
    nodes=2,
    detectors=NO_CLIENT,
    field="image, registrations",
)
