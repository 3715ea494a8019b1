"""KIP-630 by hand: who is told of a snapshot, what loading it makes, and what a restart makes."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.log import LEADER_CHANGE
from kraftcheck.reference.quorum.messages import Crash, Resign, Restart
from kraftcheck.reference.quorum.snapshots.bugs import Z128EndTakenForLast
from kraftcheck.reference.quorum.snapshots.handlers import SnapshotHandlers
from kraftcheck.reference.quorum.snapshots.messages import (
    CleanSnapshots,
    CreateSnapshot,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules
from kraftcheck.reference.quorum.snapshots.types import NO_SNAPSHOT, SnapshotId, SnapshotRow
from kraftcheck.reference.quorum.voters.types import VotersAt, VotersEntry
from tests.reference.quorum.snapshots.plants import BOTH, ONE, THREE, loaded, with_voter
from tests.reference.quorum.voters.plants import LOG, following, leading, voters

HANDLERS = SnapshotHandlers(THREE)
ALONE = (VotersAt(-1, (1,)),)
ASKING = ("Awaiting", "Ready", "Ready")


def step(node: int, row: SnapshotRow, input: Any) -> tuple[SnapshotRow, tuple[Any, ...]]:
    outcome = HANDLERS.step(node, row, input)
    assert outcome is not None
    return outcome.row, outcome.sent


def asked(row: SnapshotRow) -> Any:
    """The follower's request that is in flight."""
    return HANDLERS.under(row).request_in_flight(2, row, 1)


def fetched(log: Any) -> tuple[SnapshotRow, FetchSnapshotRequest]:
    """Node 2 with this log has been told of the snapshot, and has asked for it."""
    row = with_voter(following(log, connections=ASKING))
    leader = loaded(leading())
    _, [told] = step(1, leader, asked(row))
    assert isinstance(told, FetchResponse) and told.snapshot_id == SnapshotId(2, 1)
    assert told.records == ()
    downloading, [request] = step(2, row, told)
    assert request == FetchSnapshotRequest(2, 1, 1, SnapshotId(2, 1))
    return downloading, request


def test_who_has_nothing_is_told_of_the_snapshot_and_loads_it() -> None:
    downloading, request = fetched(())
    _, [answer] = step(1, loaded(leading()), request)
    row, [then] = step(2, downloading, answer)
    assert row.log == LOG and row.flushed == 2
    assert row.high_watermark == row.log_start == 2
    assert row.snapshots == (BOTH,) and row.history[-1].voters == (1, 2, 3)
    assert (then.fetch_offset, then.last_fetched_epoch) == (2, 1)


def test_a_snapshot_that_is_gone_is_not_asked_for_again() -> None:
    downloading, request = fetched(())
    _, [answer] = step(1, with_voter(leading()), request)
    assert answer.error == "SNAPSHOT_NOT_FOUND" and answer.snapshot == NO_SNAPSHOT
    row, [then] = step(2, downloading, answer)
    assert row.download.end_offset == -1 and then.fetch_offset == 0


def test_a_longer_log_of_a_later_epoch_goes() -> None:
    """Z122: Kafka 4.3.1 stops here (its bug is replayed in tests/corpus)."""
    tail = (LOG[0], VotersEntry(2, LEADER_CHANGE), VotersEntry(2, 7))
    row = with_voter(following(tail, connections=ASKING), download=SnapshotId(2, 1))
    request = FetchSnapshotRequest(2, 1, 1, SnapshotId(2, 1))
    answer = FetchSnapshotResponse(1, 2, "NONE", 1, 1, BOTH, request)
    after, _ = step(2, row, answer)
    assert after.log == LOG and after.role == "Follower"
    assert not SnapshotRules(THREE).snapshot_is_ahead(row, BOTH)


def test_a_download_ends_with_its_role() -> None:
    downloading, request = fetched(())
    down, _ = step(2, downloading, Crash(0))
    assert down.download.end_offset == -1
    late = FetchSnapshotResponse(1, 2, "NONE", 1, 1, BOTH, request)
    up, _ = step(2, down, Restart())
    outcome = HANDLERS.step(2, up, late)
    assert outcome is not None and outcome.ignored == "NotAwaited"


def test_the_set_at_the_end_of_a_snapshot_does_not_evict_the_one_before() -> None:
    """Z111: what is at the snapshot's end is not in it, and may be truncated."""
    row = with_voter(leading((*LOG, voters(1, 2)), 2))
    after, _ = step(1, row, CreateSnapshot(2))
    assert [each.voters for each in after.history] == [(1, 2, 3), (1, 2)]


def test_a_log_that_lost_what_its_snapshot_has_begins_at_it() -> None:
    row = with_voter(leading(flushed=1), snapshots=(BOTH,))
    down, _ = step(1, row, Crash(1))
    assert len(down.log) == 1
    up, _ = step(1, down, Restart())
    assert up.log == LOG and up.log_start == 2


def test_only_what_a_snapshot_covers_is_deleted() -> None:
    row = with_voter(leading(), snapshots=(ONE,))
    assert HANDLERS.step(1, row, CleanSnapshots(2)) is None
    after, _ = step(1, row, CleanSnapshots(1))
    assert after.log_start == 1 and after.snapshots == (ONE,)


def test_a_log_without_its_beginning_is_not_started() -> None:
    down, _ = step(1, with_voter(leading(), log_start=1), Crash(2))
    up, _ = step(1, replace(down, snapshots=()), Restart())
    assert up.role == "Halted"


def test_a_deposed_controller_goes_back_to_all_that_is_committed() -> None:
    """Z128: a batch of one record just behind the snapshot that it began with."""
    machines = replace(THREE, first_voters=(1,), state_machines=True)
    told = (*LOG, VotersEntry(1, 7))
    for rules, left in ((None, told[2:]), (Z128EndTakenForLast(machines), ())):
        handlers = SnapshotHandlers(machines, rules)
        row = with_voter(
            replace(leading((*told, VotersEntry(2, LEADER_CHANGE)), 4), history=ALONE),
            snapshots=(BOTH,),
            machine=handlers.read_to(handlers.from_snapshot(BOTH), told, 3),
        )
        assert row.machine.records == told[2:]
        outcome = handlers.step(1, row, Resign())
        assert outcome is not None and outcome.row.machine.records == left
