"""Z136 (KAFKA-14616): the log of a deleted topic is taken for that of a new one.

A topic is deleted and made again under its name while a broker is down. When the broker starts, the
log that it finds has the right name and the wrong topic id.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.hosting.rules import HostingRules
from kraftcheck.reference.hosting.types import Image, Log


class Z136OldLogTakenForNew(HostingRules):
    def is_stray(self, log: Log, image: Image) -> bool:
        return not image.assigned


BUG = declared(
    __name__,
    Z136OldLogTakenForNew,
    "NoReplicaOfOldTopic",
    source="R13; KIP-516, KAFKA-14616, PR 15230",
    year=2024,
    nodes=1,
    field="replica",
    detectors=NO_CLIENT,
)
