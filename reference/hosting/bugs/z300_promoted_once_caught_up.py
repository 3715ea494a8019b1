"""Z300: a future log is promoted because it was caught up once.

A future log reaches the end of the replica's log, and the controller is told of its directory. By
the time the controller has accepted that, the replica has more records. Without a second comparison
of both ends the shorter log becomes the replica, and acknowledged records are gone.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z300PromotedOnceCaughtUp(HostingRules):
    def promotes_future(self, row: HostRow) -> bool:
        return row.future_assigned


BUG = declared(
    __name__,
    Z300PromotedOnceCaughtUp,
    "LeaderCandidateCompleteness",
    source="R21; Partition.runCallbackIfFutureReplicaCaughtUp, ReplicaAlterLogDirsThread",
    nodes=1,
    field="futureCaughtUp apart from futureAssigned",
    detectors=NO_CLIENT,
)
