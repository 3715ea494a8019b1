"""Z120: what is committed is deleted from the log, be it in a snapshot or not.

It is a mutant of V3. What has gone is nowhere, and the node cannot start again.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules
from kraftcheck.reference.snapshots.types import SnapshotRow


class Z120CleansToHighWatermark(SnapshotRules):
    def prefix_deletable(self, row: SnapshotRow, offset: int) -> bool:
        return row.log_start < offset <= row.voter.quorum.high_watermark


BUG = declared(
    __name__,
    Z120CleansToHighWatermark,
    "PrefixKeepsCommitted",
    "LogStartCovered",
    "NoIllegalState",
    source="V3; a mutant",
    nodes=1,
    field="log_start",
    detectors=NO_CLIENT,
)
