"""Z139: a removed replica whose directory has failed is not forgotten.

Only replicas that serve are stopped. One whose directory has failed stays hosted when the partition
leaves the broker, and refuses to come back to a healthy directory until a restart. Apache Kafka
4.3.1 does so, live (ReplicaManager.stopPartitions, getOrCreatePartition; finds/Z139/README.md).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import HostRow


class Z139OfflineNotForgotten(HostingRules):
    def forgets_offline(self, row: HostRow) -> bool:
        return False


BUG = declared(
    __name__,
    Z139OfflineNotForgotten,
    "LocalChangesSound",
    source="R22; Apache Kafka 4.3.1, ReplicaManager.stopPartitions",
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
