"""Z24: a new follower cuts its log to its high watermark.

Before KIP-101 nobody was asked where the logs diverge. A follower that restarts, or hears of a new
epoch, cuts to its own high watermark, which lags behind the leader's. If it is elected before it
has fetched again, an acked record is gone, and the old leader cuts its copy too.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.bugs.z23_truncate_to_high_watermark import (
    Z23TruncateToHighWatermark,
)

BUG = declared(
    __name__,
    Z23TruncateToHighWatermark,
    "PartitionLogMatching",
    "PartitionEpochCacheSound",
    "NoCommittedRecordLost",
    source="KIP-101 case 2",
    year=2016,
    nodes=2,
    lossy=True,
    field="highWatermark apart from log, flushed",
)
