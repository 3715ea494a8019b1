"""Z45: an empty response makes the follower forget the epoch of its last record.

Its next fetch names none, so the leader does not compare the logs.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import UNDEFINED, RecordLog
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z45LastEpochLost(PartitionRules):
    def last_fetched_after(self, row: BrokerRow, records: RecordLog) -> int:
        return records[-1].epoch if records else UNDEFINED


BUG = declared(
    __name__,
    Z45LastEpochLost,
    "PartitionLogMatching",
    "StrongIsr",
    source="KAFKA-15510, PR 14457",
    year=2023,
    nodes=2,
    detectors=("steps",),
    field="lastFetchedEpoch apart from epochCache",
    alone=(
        "in its model the states differ and nothing is broken: within an epoch the "
        "follower has been compared before"
    ),
)
