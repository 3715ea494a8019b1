"""What runs with snapshots should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.quorum.messages import (
    CheckQuorumTimeout,
    Crash,
    FetchRequest,
    Resign,
    Restart,
    VoteRequest,
)
from kraftcheck.reference.quorum.snapshots.messages import (
    CleanSnapshots,
    CreateSnapshot,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from kraftcheck.reference.quorum.snapshots.types import NO_ID, SnapshotRow

sometimes = Conditions()


@sometimes(CreateSnapshot)
def leader_takes_a_snapshot(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A leader has a snapshot that it had not."""
    return before.role == "Leader" and len(after.snapshots) > len(before.snapshots)


@sometimes(CreateSnapshot)
def snapshot_has_a_set_of_voters(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A snapshot goes beyond a set of voters that stands in the log."""
    if after.snapshots == before.snapshots:
        return False
    end = after.snapshots[-1].end_offset
    return any(0 <= known.offset < end for known in before.history)


@sometimes(CleanSnapshots)
def prefix_is_deleted(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A node deletes records that a snapshot has."""
    return after.log_start > before.log_start


@sometimes(FetchRequest)
def follower_is_sent_to_a_snapshot(sent: tuple[Any, ...]) -> bool:
    """A leader answers a fetch with the id of a snapshot."""
    return any(isinstance(m, FetchResponse) and m.snapshot_id != NO_ID for m in sent)


@sometimes(FetchResponse)
def follower_begins_a_download(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A follower learns that it has to fetch a snapshot."""
    return before.download == NO_ID != after.download


@sometimes(FetchSnapshotRequest)
def snapshot_asked_for_is_gone(before: SnapshotRow, input: FetchSnapshotRequest) -> bool:
    """A leader is asked for a snapshot that it has not."""
    leads = before.role == "Leader"
    ids = {(each.end_offset, each.epoch) for each in before.snapshots}
    return leads and (input.snapshot_id.end_offset, input.snapshot_id.epoch) not in ids


@sometimes(FetchSnapshotResponse)
def snapshot_takes_the_place_of_a_log(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A follower with records of its own goes on from a snapshot."""
    return after.snapshots != before.snapshots and bool(before.log)


@sometimes(FetchSnapshotResponse)
def snapshot_of_another_leader_arrives(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A snapshot arrives at a node that asks for none any more."""
    return before.download == NO_ID and after.snapshots == before.snapshots


@sometimes(Crash)
def crash_during_a_download(before: SnapshotRow) -> bool:
    """A follower crashes while it fetches a snapshot."""
    return before.download != NO_ID


@sometimes(Restart)
def node_starts_from_a_snapshot(before: SnapshotRow) -> bool:
    """A node starts whose log begins after its first record."""
    return before.log_start > 0


@sometimes(Resign, CheckQuorumTimeout, FetchRequest, VoteRequest)
def controller_goes_back(before: SnapshotRow, after: SnapshotRow) -> bool:
    """A controller that has led goes back to what is committed: it has written more."""
    led = before
    wrote = led.role == "Leader" and 0 <= led.high_watermark < len(led.log)
    return wrote and after.role != "Leader"
