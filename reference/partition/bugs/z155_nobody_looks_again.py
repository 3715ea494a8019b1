"""Z155: nobody looks again at a request that waits.

A parked request is looked at under its lock. A fetch that lets the high watermark pass it finds the
lock taken by a thread that has looked already, and leaves. Nobody looks again, and the producer
waits for its time-out. Here every such fetch loses that race.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z155NobodyLooksAgain(PartitionRules):
    def recheck_completion(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z155NobodyLooksAgain,
    "EventuallyWriteAccepted",
    source="KAFKA-6653, PR 4704; KAFKA-9777",
    year=2018,
    klass="liveness",
    nodes=2,
    field="parked, highWatermark",
    boundary="recheck_completion; the high watermark moves / who waits for it is answered",
)
