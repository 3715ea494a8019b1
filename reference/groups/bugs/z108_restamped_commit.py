"""Z108: a commit goes out with the epoch of the moment, not of the one in which it was asked for.

A consumer was fenced, and is a member again; what it asked for in its former life is sent, and is
accepted. Another one has the partition, and has committed more: that goes back. Apache Kafka 4.3.1
does so (finds/Z108/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.rules import GroupRules, InEpoch


class Z108RestampedCommit(GroupRules):
    def stamped_epoch(self, row: InEpoch, request: InEpoch) -> int:
        return row.epoch


BUG = declared(
    __name__,
    Z108RestampedCommit,
    "HandoverNoRegress",
    source="G25, G29, G30; Apache Kafka 4.3.1",
    nodes=1,
    detectors=NO_CLIENT,
    field="committed",
)
