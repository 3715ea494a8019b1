"""Z151: the batch with a producer's last sequence goes.

Where the state is replayed from the log, the producer's next batch is out of order, or its last one
is taken a second time.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z151LastSequenceCleaned(StorageRules):
    def keeps_last_of_producer(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z151LastSequenceCleaned,
    "LastSequenceKept",
    "ProducerStateReplays",
    source="KAFKA-5490, KAFKA-8335, d798dbf, PR 6715",
    year=2019,
    nodes=1,
    detectors=("crashes",),
)
