"""Z32: a new leader does not note where its epoch begins.

Its epoch cache knows the epoch only once a record is written in it. After elections in a row the
leader cannot say where an epoch ends that came after all that it wrote. Where truncation was asked
for apart, followers cut at the wrong place; with fetches that are compared (KIP-595) a follower
whose log is no longer than the leader's is told that it is out of range, for ever, and never joins.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.log import EpochCache
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z32EpochStartNotRecorded(PartitionRules):
    def cache_on_become_leader(self, row: BrokerRow, epoch: int) -> EpochCache:
        return row.epoch_cache


BUG = declared(
    __name__,
    Z32EpochStartNotRecorded,
    "EventuallyInSync",
    source="KAFKA-7415, PR 5678",
    year=2018,
    klass="liveness",
    nodes=2,
    field="epochCache apart from log",
)
