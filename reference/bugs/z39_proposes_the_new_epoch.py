"""Z39: judged by the old fetch, proposed with the new broker epoch.

The leader judges a replica by what its previous incarnation fetched, and fills the broker epoch
into the proposal from its metadata, which knows of the new one. So the check of Z38 finds nothing.
"""

from __future__ import annotations

from reference.core.partition_log import UNDEFINED
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import BrokerRow


class Z39ProposesTheNewEpoch(PartitionRules):
    __slots__ = ()

    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        at = self.position[r]
        known = row.image.brokers[at]
        return not known.fenced and not known.stopping and row.remotes[at].broker_epoch != UNDEFINED

    def proposed_epoch(self, n: int, row: BrokerRow, r: int) -> int:
        return row.broker_epoch if r == n else row.image.brokers[self.position[r]].epoch
