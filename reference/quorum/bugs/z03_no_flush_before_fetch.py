"""Z03 (KAFKA-10533): a follower confirms offsets that sit in the page cache.

The next fetch tells the leader of records that no disk has. The high watermark moves, the machine
fails, and an election by the other two loses the record.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z03NoFlushBeforeFetch(QuorumRules):
    def flushed_after_follower_append(self, row: Row) -> int:
        return row.flushed


BUG = declared(
    __name__,
    Z03NoFlushBeforeFetch,
    "DurableMajority",
    "CommittedSurvives",
    "LeaderCompleteness",
    "MonotonicHighWatermark",
    source="KAFKA-10533, PR 9352",
    year=2020,
    boundary="flushed_after_follower_append; append / flush",
    field="flushed",
)
