"""Name every decision about snapshots of the metadata log (KIP-630).

It is the twin of SnapshotRules.tla.

Law of this file: a rule has no state and no effects, and asks other rules only through `self`.
Which voters are in force is decided in reference/quorum/voters/rules.py, what a voter does in
reference/quorum/rules.py. Rule ids (V1 ...) are those of docs/reference/protocol-rules.md.
"""

from __future__ import annotations

from kraftcheck.reference.kit.log import UNDEFINED, latest_epoch
from kraftcheck.reference.quorum.messages import FetchRequest
from kraftcheck.reference.quorum.snapshots.types import (
    Constants,
    Snapshot,
    SnapshotId,
    SnapshotRow,
    id_of,
)
from kraftcheck.reference.quorum.voters.types import History, VotersLog


def last_epoch_of(row: SnapshotRow) -> int:
    return latest_epoch(row.epoch_cache)


def data_of(log: VotersLog) -> VotersLog:
    """V30. Control records are not for the controller."""
    return tuple([entry for entry in log if entry.value > 0])


class SnapshotRules:
    """The decisions, for one set of constants."""

    __slots__ = ("constants",)

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    # --- Made, and cleaned: V2, V3 ---

    def snapshot_allowed(self, row: SnapshotRow, end: int) -> bool:
        """V2. Of what is committed, and not below the start of the log."""
        committed = max(row.log_start, 1) <= end <= row.high_watermark
        return committed and all([s.end_offset != end for s in row.snapshots])

    def snapshot_taken(self, row: SnapshotRow, end: int) -> Snapshot:
        """V1. The end is the offset after the last record that is in it."""
        log = row.log
        return Snapshot(end, log[end - 1].epoch, log[:end])

    def history_after_snapshot(self, history: History, end: int) -> History:
        """V2.

        The set that was in force at the snapshot's last record stays; it is what a truncation to
        the snapshot's end leaves.
        """
        below = [each for each in history if each.offset < end]
        return (*below[-1:], *[each for each in history if each.offset >= end])

    def prefix_deletable(self, row: SnapshotRow, offset: int) -> bool:
        """V3. The log begins where a snapshot ends."""
        return row.log_start < offset and any([s.end_offset == offset for s in row.snapshots])

    # --- Fetched, and loaded: V4 to V7 ---

    def fetch_needs_snapshot(self, row: SnapshotRow, m: FetchRequest) -> bool:
        """V5. Who has nothing, or what is no longer in the log, needs a snapshot."""
        if not row.snapshots:
            return False
        earliest = row.snapshots[0]
        return (
            m.fetch_offset == 0
            or m.fetch_offset < row.log_start
            or (m.fetch_offset == row.log_start and m.last_fetched_epoch != earliest.epoch)
            or m.last_fetched_epoch < earliest.epoch
        )

    def is_served(self, row: SnapshotRow, id: SnapshotId) -> bool:
        """V6."""
        return any([id_of(s) == id for s in row.snapshots])

    def replaces_log(self, row: SnapshotRow, snapshot: Snapshot) -> bool:
        """V7.

        The leader has just said that the follower's position is not in its log: whatever the
        follower has there goes.
        """
        return True

    def log_after_snapshot(self, row: SnapshotRow, snapshot: Snapshot) -> VotersLog:
        """V7. What the node has then."""
        return snapshot.records[: snapshot.end_offset]

    def snapshot_is_ahead(self, row: SnapshotRow, snapshot: Snapshot) -> bool:
        """V4. A log that lost what was not flushed ends below the snapshot."""
        own = (last_epoch_of(row), len(row.log))
        return (snapshot.epoch, snapshot.end_offset) > own

    def may_start(self, row: SnapshotRow) -> bool:
        """V4. A log that begins where no snapshot ends cannot be started with."""
        return row.log_start == 0 or any([s.end_offset >= row.log_start for s in row.snapshots])

    # --- What a controller keeps of it: V8, V29 ---

    def is_active(self, row: SnapshotRow) -> bool:
        """V29. A leader is active, and writes, when a record of its epoch is committed."""
        return row.role == "Leader" and row.high_watermark != UNDEFINED

    def begins_with_snapshot(self, row: SnapshotRow, next: int) -> bool:
        """V8.

        Who has read nothing yet, or not up to where its log begins, begins with its latest
        snapshot.
        """
        if not row.snapshots or not (next == 0 or next < row.log_start):
            return False
        return row.snapshots[-1].end_offset <= row.high_watermark

    def stable_after_snapshot(self, end: int) -> int:
        """V29. Up to where the state of a snapshot goes: its end is exclusive."""
        return end
