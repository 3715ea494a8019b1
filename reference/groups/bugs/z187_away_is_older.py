"""Z187 (Apache Kafka 4.3.1): who has left for a while takes nothing that seems to be another's.

Epoch -2 is smaller than any. Where the log is cleaned while it is read, an entry that is gone would
have let the partition go, and the load fails.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.groups.messages import UNKNOWN
from kraftcheck.reference.groups.rules import GroupRules


class Z187AwayIsOlder(GroupRules):
    def may_take(self, held_epoch: int, epoch: int) -> bool:
        return held_epoch == UNKNOWN or held_epoch < epoch


BUG = declared(
    __name__,
    Z187AwayIsOlder,
    "LoadSucceeds",
    source="G50; Apache Kafka 4.3.1, ConsumerGroup.addPartitionEpochs",
    year=2026,
    nodes=1,
    field="state of a broker",
    detectors=NO_CLIENT,
)
