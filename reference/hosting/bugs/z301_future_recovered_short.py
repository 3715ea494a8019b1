"""Z301: a start takes a future log for the replica without a look at its end.

The controller believes the target of a move since the future log was caught up once. The broker
stops before the two logs are level again. The start finds the future log in the directory that the
controller believes, renames the replica's log for deletion, and serves the shorter one. Apache
Kafka 4.3.1 compares directory and topic id only. Records are lost where no other replica can be
copied from: with one replica, or where this is the last member of the ISR.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z301FutureRecoveredShort(HostingRules):
    def recovers_future(self, row: HostRow) -> bool:
        return row.future == row.image.directory


BUG = declared(
    __name__,
    Z301FutureRecoveredShort,
    "LeaderCandidateCompleteness",
    source="R21; Apache Kafka 4.3.1, LogManager.recoverAbandonedFutureLogs",
    nodes=1,
    field="futureCaughtUp apart from futureAssigned",
    detectors=NO_CLIENT,
)
