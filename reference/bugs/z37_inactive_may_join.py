"""Z37: a broker that is fenced or stops may join the ISR.

Neither the leader nor the controller asks whether a member is active. The high watermark then waits
for it, or it is elected while it dies.
"""

from __future__ import annotations

from reference.core.partition_log import UNDEFINED
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import BrokerRow, Registration


class Z37InactiveMayJoin(PartitionRules):
    __slots__ = ()

    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        return row.remotes[self.position[r]].broker_epoch != UNDEFINED

    def isr_member_active(self, registration: Registration) -> bool:
        return True
