"""Z58: a batch that is sent again is appended again.

Sequence numbers are not looked at. An answer is lost, the producer retries, and the log has the
records twice.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import UNDEFINED
from kraftcheck.reference.partition.messages import ProduceRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z58NoDeduplication(PartitionRules):
    def produce_error(self, row: BrokerRow, m: ProduceRequest) -> str:
        error = super().produce_error(row, m)
        known = ("NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS")
        return error if error in known else "NONE"

    def duplicate_offset(self, row: BrokerRow, m: ProduceRequest) -> int:
        return UNDEFINED


BUG = declared(
    __name__,
    Z58NoDeduplication,
    "NoDuplicate",
    source="T1",
    nodes=1,
    field="producers",
)
