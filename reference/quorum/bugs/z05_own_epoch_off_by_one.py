"""Z05 (KAFKA-12619): the guard of Z04, one record too narrow.

The high watermark may reach the start of the leader's epoch without its own LeaderChange record
being covered. The same loss as in Z04, one record later.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z05OwnEpochOffByOne(QuorumRules):
    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        return offset >= row.epoch_start


BUG = declared(
    __name__,
    Z05OwnEpochOffByOne,
    "LeaderCompleteness",
    "MonotonicHighWatermark",
    "CommittedSurvives",
    source="KAFKA-12619, PR 10481",
    year=2021,
    field="epochStart, highWatermark",
)
