"""Z178: a log start is told before it is durable.

The checkpoint of log starts is written once a minute. A broker that is killed before that comes
back with the old one, and records that a client was told are deleted are there again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z178StartToldEarly(StorageRules):
    def log_start_durable(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z178StartToldEarly,
    "DeletedStaysDeleted",
    source="D9; Apache Kafka 4.3.1, UnifiedLog.maybeIncrementLogStartOffset",
    year=2017,
    nodes=1,
    detectors=("tlc", "crashes"),
)
