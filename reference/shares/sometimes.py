"""What runs of share partitions should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.shares.cells import window_is_active
from kraftcheck.reference.shares.messages import (
    LockTimeout,
    ReadShareGroupStateResponse,
    ShareAcknowledge,
    ShareFetch,
    WriteShareGroupState,
    WriteShareGroupStateResponse,
)
from kraftcheck.reference.shares.types import ShareCoordinator, ShareLeader

sometimes = Conditions()


@sometimes(ReadShareGroupStateResponse)
def load_finds_a_gap(after: ShareLeader) -> bool:
    """A leader loads a state with offsets of which nothing is stored."""
    return after.phase == "Active" and window_is_active(after)


@sometimes(ShareFetch)
def log_start_moves_the_start(before: ShareLeader, after: ShareLeader) -> bool:
    """A fetch finds that the log begins after the start offset."""
    return before.phase == "Active" and after.start > before.start


@sometimes(ShareFetch)
def record_is_handed_out_again(before: ShareLeader, after: ShareLeader) -> bool:
    """A record is delivered a second time."""
    return any(
        new.state == "Acquired" and new.count > 1 and new != old
        for old, new in zip(before.cells, after.cells, strict=True)
    )


@sometimes(ShareAcknowledge)
def stale_acknowledgement_is_refused(sent: tuple[Any, ...]) -> bool:
    """A consumer acknowledges what it does not hold any more."""
    return any(getattr(each, "error", "") == "INVALID_RECORD_STATE" for each in sent)


@sometimes(LockTimeout)
def lock_runs_out_during_a_write(before: ShareLeader, input: LockTimeout) -> bool:
    """A lock runs out while its acknowledgement is under way."""
    return before.cells[input.offset - 1].moving


@sometimes(LockTimeout)
def record_is_archived_at_the_limit(
    before: ShareLeader, input: LockTimeout, after: ShareLeader
) -> bool:
    """A record has been delivered as often as it may be."""
    return after.cells[input.offset - 1].state == "Archived"


@sometimes(WriteShareGroupState)
def write_of_an_earlier_incarnation_is_refused(sent: tuple[Any, ...]) -> bool:
    """A leader's write arrives after its successor has read."""
    return any(each.error == "FENCED_LEADER_EPOCH" for each in sent)


@sometimes(WriteShareGroupState)
def late_write_has_an_earlier_start(before: ShareCoordinator, input: WriteShareGroupState) -> bool:
    """A write arrives after one with a later start offset."""
    log = before.log
    newest = log.leader[-1] if log.leader else log.committed
    return input.start < newest.start


@sometimes(WriteShareGroupStateResponse)
def predecessor_is_answered(before: ShareLeader, input: WriteShareGroupStateResponse) -> bool:
    """A write of an earlier incarnation is answered after its end."""
    return input.write.incarnation < before.incarnation
