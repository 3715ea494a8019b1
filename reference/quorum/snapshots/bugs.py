"""Known bugs of snapshots of the metadata log, by the numbers of bugs.toml."""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.quorum.messages import FetchRequest
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules
from kraftcheck.reference.quorum.snapshots.types import Snapshot, SnapshotRow
from kraftcheck.reference.quorum.voters.types import History, VotersLog


class Z111TrimsSetInForce(SnapshotRules):
    def history_after_snapshot(self, history: History, end: int) -> History:
        return super().history_after_snapshot(history, end + 1)


class Z119NamedByLastOffset(SnapshotRules):
    def snapshot_taken(self, row: SnapshotRow, end: int) -> Snapshot:
        return replace(super().snapshot_taken(row, end), end_offset=end - 1)


class Z120CleansToHighWatermark(SnapshotRules):
    def prefix_deletable(self, row: SnapshotRow, offset: int) -> bool:
        return row.log_start < offset <= row.high_watermark


class Z121KeepsLog(SnapshotRules):
    def log_after_snapshot(self, row: SnapshotRow, snapshot: Snapshot) -> VotersLog:
        own = row.log
        return own + snapshot.records[len(own) : snapshot.end_offset]


class Z122StopsAtLongerLog(SnapshotRules):
    def replaces_log(self, row: SnapshotRow, snapshot: Snapshot) -> bool:
        return self.snapshot_is_ahead(row, snapshot)


class Z128EndTakenForLast(SnapshotRules):
    def stable_after_snapshot(self, end: int) -> int:
        return end + 1


class Z312EpochComparedAnywhere(SnapshotRules):
    def fetch_needs_snapshot(self, row: SnapshotRow, m: FetchRequest) -> bool:
        if not row.snapshots:
            return False
        earliest = row.snapshots[0]
        below = m.fetch_offset == 0 or m.fetch_offset < row.log_start
        return below or m.last_fetched_epoch != earliest.epoch
