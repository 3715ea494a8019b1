"""Z111: a snapshot trims the history of sets at its end, that offset included.

A set that is appended just where the snapshot ends, and is not committed, evicts the one below it.
When it is truncated nothing is left: the node goes by its static configuration, or by nobody.
Apache Kafka 4.3.1 does so (TreeMapLogHistory.truncateOldEntries, called with the snapshot's end).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.snapshots.rules import SnapshotRules
from kraftcheck.reference.voters.types import History


class Z111TrimsSetInForce(SnapshotRules):
    def history_after_snapshot(self, history: History, end: int) -> History:
        return super().history_after_snapshot(history, end + 1)


BUG = declared(
    __name__,
    Z111TrimsSetInForce,
    "HistorySound",
    "CommittedSetsOneLine",
    source="V2; Apache Kafka 4.3.1, TreeMapLogHistory",
    nodes=2,
    field="history",
    detectors=NO_CLIENT,
)
