"""Z59: fewer batches are remembered than may be in flight.

With five batches in flight and one remembered, the retry of an earlier one is refused as out of
order although its records are in the log (KAFKA-5494).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules


class Z59OneBatchKept(PartitionRules):
    def batches_kept(self) -> int:
        return 1


BUG = declared(
    __name__,
    Z59OneBatchKept,
    "EventuallyWriteAccepted",
    source="KAFKA-5494, PR 3743",
    year=2017,
    klass="liveness",
    nodes=1,
    detectors=("steps",),
    field="producers",
    alone=(
        "a wrong refusal breaks no invariant, and the models of liveness have no "
        "producer that sends again"
    ),
)
