"""Z44: a follower that is told to truncate takes the high watermark first.

A follower whose log departs from the leader's lifts its high watermark to the leader's, and only
then cuts its log. In between, whoever reads from it sees records that are about to go.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.log import NO_DIVERGENCE
from kraftcheck.reference.partition.messages import ReplicaFetchResponse
from kraftcheck.reference.partition.types import BrokerOutcome, BrokerRow


class Z44HighWatermarkFirst(BrokerHandlers):
    """The handler in two halves: the first lifts the high watermark and leaves the rest."""

    def handle_replica_fetch_response(
        self, n: int, row: BrokerRow, m: ReplicaFetchResponse
    ) -> BrokerOutcome:
        if (
            m.request in row.fetching
            and self.rules.response_matches(row, m)
            and m.error == "NONE"
            and m.diverging != NO_DIVERGENCE
        ):
            high_watermark = self.rules.follower_high_watermark(row, m.high_watermark)
            if high_watermark != row.high_watermark:
                return BrokerOutcome(replace(row, high_watermark=high_watermark), (), "")
        return super().handle_replica_fetch_response(n, row, m)


BUG = declared(
    __name__,
    Z44HighWatermarkFirst,
    "ReadOnlyCommitted",
    "PartitionLogMatching",
    source="KAFKA-14704, PR 13230",
    year=2023,
    boundary="handle_replica_fetch_response; high watermark / truncation",
    field="highWatermark apart from log",
)
