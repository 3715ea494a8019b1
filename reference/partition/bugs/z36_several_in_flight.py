"""Z36: a second AlterPartition is sent while one is in flight.

What the leader waits for is overwritten by the second request, so that the answer to the first,
which the controller may have accepted, is never matched.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import NO_PENDING, BrokerRow


class Z36SeveralInFlight(PartitionRules):
    def may_send_alter_partition(self, row: BrokerRow) -> bool:
        return row.pending != NO_PENDING and not row.pending.refused


BUG = declared(
    __name__,
    Z36SeveralInFlight,
    "PendingAlterPartitionResolved",
    source="KAFKA-12686, PR 10561",
    year=2021,
    klass="liveness",
    nodes=2,
    detectors=("steps",),
    field="alterRequest",
    alone=(
        "it breaks no invariant, and the models of liveness send a proposal and "
        "answer it in one step, so that none is in flight"
    ),
)
