"""Z162: recovery fails where an index is full.

It may need more entries than appends did, since a start or a truncation counts anew; no start gets
over it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z162FullIndexFails(StorageRules):
    def skips_when_full(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z162FullIndexFails,
    "StartUpTotal",
    source="Apache Kafka 4.3.1",
    nodes=1,
    detectors=("crashes",),
)
