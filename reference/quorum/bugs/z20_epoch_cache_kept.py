"""Z20 (KAFKA-10706): a truncation that cuts no record leaves the epoch cache alone.

Back-to-back leaders without data leave conflicting entries at the tail of the cache, and a restart
does not repair them. A leader that lost its LeaderChange record then exchanges the same divergence
with its follower for ever.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.kit.log import EpochCache, end_offset
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row


class Z20EpochCacheKept(QuorumRules):
    def truncated_epoch_cache(self, row: Row, offset: int) -> EpochCache:
        if offset >= end_offset(row.log):
            return row.epoch_cache
        return super().truncated_epoch_cache(row, offset)

    def recovered_epoch_cache(self, cache: EpochCache, end_offset: int) -> EpochCache:
        return cache


BUG = declared(
    __name__,
    Z20EpochCacheKept,
    "EventuallyFullyReplicated",
    "EpochCacheSound",
    source="KAFKA-10706, PR 9633",
    year=2020,
    klass="liveness",
    detectors=NO_CLIENT,
    field="epochCache apart from log",
)
