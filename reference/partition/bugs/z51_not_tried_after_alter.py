"""Z51: the high watermark is not tried when the ISR has changed.

After a shrink is confirmed nobody looks again. A producer that waits for all replicas waits for the
next append or fetch, which may never come.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z51NotTriedAfterAlter(PartitionRules):
    def advances_after_alter_partition(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z51NotTriedAfterAlter,
    "EventuallyWriteAccepted",
    source="KAFKA-13091, PR 11245",
    year=2021,
    klass="liveness",
    nodes=2,
    field="highWatermark",
)
