"""Z170: a fetch of an old leadership lets its sender into the ISR of a later one.

The leader checks the epoch of a fetch and notes the fetch in two steps. Between them it stops
leading, has its log cut, and leads again; its follower is told to cut, and fetches anew. What the
first fetch said of the follower's log is then held against the new high watermark, and the follower
joins without what is committed. Kafka decides this way, as its own Partition of 4.3.1 shows
(experiments/old_replica_by_classes.py, finds/Z170/README.md). Here a fetch that is noted late
arrives late, whether or not the leader had let it pass before.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z170FencedFetchExpandsIsr(PartitionRules):
    def fenced_fetch_may_expand_isr(self) -> bool:
        return True


BUG = declared(
    __name__,
    Z170FencedFetchExpandsIsr,
    "LeaderCandidateCompleteness",
    "PartitionLeaderCompleteness",
    "StrongIsr",
    source="this kit; shown on the classes of Apache Kafka 4.3.1 (finds/Z170/README.md)",
    year=2026,
    boundary="fenced_fetch_may_expand_isr; the epoch of a fetch is checked / the fetch is noted",
    field="pending, remotes",
)
