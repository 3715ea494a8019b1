"""Z29: a diverging fetch updates what the leader knows of the follower.

The fetch offset of a follower whose log departs from the leader's is noted before the answer tells
it so. The high watermark, or the ISR, then counts records that the follower does not have.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.messages import ReplicaFetchRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class Z29CountsDivergingFetch(PartitionRules):
    def may_update_fetch_state(self, row: BrokerRow, m: ReplicaFetchRequest) -> bool:
        return True


BUG = declared(
    __name__,
    Z29CountsDivergingFetch,
    "StrongIsr",
    "WeakIsr",
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    source="KAFKA-13141, PR 11136",
    year=2021,
    field="remotes",
)
