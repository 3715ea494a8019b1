"""Z129: what an aborted metadata transaction has is applied.

A reader drops the records of a transaction at its Abort only if nothing follows in what it reads at
once (KIP-868): Begin, A, Abort, B are one delta, and A is in it. Apache Kafka 4.3.1 does so, by
reading (MetadataBatchLoader); only the first records of a new cluster are a transaction, so that no
broker has been seen to.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow
from kraftcheck.reference.kit.log import UNDEFINED


class Z129AbortedIsApplied(HostingRules):
    def reads_aborted(self, row: HostRow, by_snapshot: bool) -> bool:
        followed = row.aborted != UNDEFINED and row.image.partition_epoch > row.aborted
        return followed and not by_snapshot


BUG = declared(
    __name__,
    Z129AbortedIsApplied,
    "AppliedWasCommitted",
    "LeaderCandidateCompleteness",
    source="V28; KIP-868; Apache Kafka 4.3.1, MetadataBatchLoader",
    nodes=1,
    field="applied",
    detectors=NO_CLIENT,
)
