"""A refused write removes the share partition if anything waits for it; a lock's write does not."""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.shares.leader import ShareLeaderHandlers
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    LockTimeout,
    WriteShareGroupStateResponse,
)
from kraftcheck.reference.shares.rules import ShareRules
from tests.reference.shares.plants import LED, TWO, WRITE

HANDLERS = ShareLeaderHandlers(ShareRules(TWO))


def test_the_refused_write_of_a_lock_changes_nothing() -> None:
    """As SharePartition.releaseAcquisitionLockOnTimeout does, which logs the error."""
    expired = HANDLERS.handle_lock_timeout(LED, LockTimeout(2))
    assert expired is not None
    (write,) = expired.sent
    refused = WriteShareGroupStateResponse(COORDINATOR, LEADER, "FENCED_STATE_EPOCH", write)
    after = HANDLERS.handle_write_share_group_state_response(expired.row, refused).row
    assert after == expired.row


def test_the_refused_write_of_an_acknowledgement_removes_the_share_partition() -> None:
    refused = WriteShareGroupStateResponse(COORDINATOR, LEADER, "FENCED_STATE_EPOCH", WRITE)
    after = HANDLERS.handle_write_share_group_state_response(LED, refused).row
    assert (after.phase, after.incarnation) == ("Empty", LED.incarnation + 1)
    resolving = replace(LED, phase="Resolving", pending=())
    after = HANDLERS.handle_write_share_group_state_response(resolving, refused).row
    assert after.phase == "Empty"
