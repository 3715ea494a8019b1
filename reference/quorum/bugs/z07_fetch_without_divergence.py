"""Z07: a fetch without the check of (offset, epoch).

The leader serves any offset, and a follower that diverged appends after its own tail. Logs then
differ below entries that they share.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.messages import FetchRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z07FetchWithoutDivergence(QuorumRules):
    def fetch_diverges(self, row: Row, m: FetchRequest) -> bool:
        return False


BUG = declared(
    __name__,
    Z07FetchWithoutDivergence,
    "LogMatching",
    "LogMatchingCommitted",
    "MajorityReachedHighWatermark",
    "CommittedSurvives",
    source="KIP-595",
    field="log",
)
