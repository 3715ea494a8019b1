"""Z45: an empty response makes the follower forget the epoch of its last record.

Its next fetch names none, so the leader does not compare the logs.
"""

from __future__ import annotations

from reference.core.partition_log import UNDEFINED, RecordLog
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import BrokerRow


class Z45LastEpochLost(PartitionRules):
    __slots__ = ()

    def last_fetched_after(self, row: BrokerRow, records: RecordLog) -> int:
        return records[-1].epoch if records else UNDEFINED
