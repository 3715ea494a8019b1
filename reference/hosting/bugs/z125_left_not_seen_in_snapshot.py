"""Z125: a snapshot that is loaded does not tell which replicas have left.

A snapshot is read as a delta from nothing, and a delta removes the partitions of the image before
it: none. A broker that has left a partition goes on as its leader of the old epoch, or as follower,
and its log stays. Topics that are gone are found (Z127). Apache Kafka 4.3.1 does so, on its classes
(TopicsDelta.replay of a TopicRecord, TopicDelta.localChanges), live (finds/Z125/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z125LeftNotSeenInSnapshot(HostingRules):
    def has_left(self, row: HostRow, by_snapshot: bool) -> bool:
        return not by_snapshot and super().has_left(row, by_snapshot)


BUG = declared(
    __name__,
    Z125LeftNotSeenInSnapshot,
    "LocalChangesSound",
    source="V27; Apache Kafka 4.3.1, TopicsDelta; AutoMQ issue 1357",
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
