"""Z08: the leader notes the fetch offset before it compares the epochs.

A diverging fetch counts for the high watermark, which then covers records that the follower does
not have. Its twin among partitions is Z29.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.quorum.rules import QuorumRules


class Z08CountsDivergingFetch(QuorumRules):
    def fetch_updates_end_offset(self, diverges: bool) -> bool:
        return True


BUG = declared(
    __name__,
    Z08CountsDivergingFetch,
    "MajorityReachedHighWatermark",
    "DurableMajority",
    "LeaderCompleteness",
    "CommittedSurvives",
    source="KIP-595",
    field="endOffsets",
)
