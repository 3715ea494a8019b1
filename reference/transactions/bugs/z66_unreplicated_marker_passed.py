"""Z66: the last stable offset passes a transaction whose marker is in the leader's log only.

Two replicas. The next leader has no marker, and shows as open what was shown as decided. The marker
comes again with the same decision, so that nothing aborted is read.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules, decided_up_to
from kraftcheck.reference.transactions.types import PartitionLeader, committed


class Z66UnreplicatedMarkerPassed(TransactionRules):
    def last_stable_offset(self, row: PartitionLeader) -> int:
        return min(len(committed(row).log), decided_up_to(row.log))


BUG = declared(
    __name__,
    Z66UnreplicatedMarkerPassed,
    "LsoMonotonic",
    "LsoBounds",
    source="X17",
    nodes=1,
    detectors=NO_CLIENT,
    field="follower of a partition",
)
