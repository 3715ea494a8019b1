"""Z121: a log is kept when a snapshot is loaded, as far as it goes.

It is a mutant of V7. The follower's own tail, which the leader does not have, stays below what is
fetched afterwards.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules, log_of
from kraftcheck.reference.snapshots.types import Snapshot, SnapshotRow
from kraftcheck.reference.voters.types import VotersLog


class Z121KeepsLog(SnapshotRules):
    def log_after_snapshot(self, row: SnapshotRow, snapshot: Snapshot) -> VotersLog:
        own = log_of(row)
        return own + snapshot.records[len(own) : snapshot.end_offset]


BUG = declared(
    __name__,
    Z121KeepsLog,
    "LogMatching",
    "LoadsCommitted",
    "LogMatchingCommitted",
    "LeaderCompleteness",
    source="V7; a mutant",
    field="log",
    detectors=NO_CLIENT,
)
