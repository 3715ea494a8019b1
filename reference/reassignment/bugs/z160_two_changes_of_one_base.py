"""Z160: two changes of one batch are computed from one base.

A heartbeat unfences a broker, which is elected for a partition without a leader, and names the
directory of that replica as failed. The second change sees a partition that the broker does not
lead, and changes nothing: it leads from a directory that has failed. Apache Kafka 4.3.1 does so, on
its classes (ReplicationControlManager.processBrokerHeartbeat).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.reassignment.rules import ReassignmentRules
from kraftcheck.reference.reassignment.types import TopicRow


class Z160TwoChangesOfOneBase(ReassignmentRules):
    def base_of_second(self, before: TopicRow, first: TopicRow) -> TopicRow:
        return before


BUG = declared(
    __name__,
    Z160TwoChangesOfOneBase,
    "OfflineDirNeverLeads",
    "ValidControllerState",
    source="R19; Apache Kafka 4.3.1, ReplicationControlManager",
    nodes=3,
    field="partitions",
    detectors=NO_CLIENT,
)
