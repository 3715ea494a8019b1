"""Z306: a compacted log takes a record without a key.

The producer is told that the record is written. The next cleaning removes it: it is the last one of
no key.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.rules import StorageRules


class Z306KeylessInCompacted(StorageRules):
    def keyless_refused(self) -> bool:
        return False


BUG = declared(
    __name__,
    Z306KeylessInCompacted,
    "CompactionKeepsLatest",
    source="D1; LogValidator.validateKey",
    nodes=1,
    detectors=("crashes",),
)
