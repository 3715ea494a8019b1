"""Share groups: what may be wrong is found, and what members of a share group can see holds."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.clients.promises import (
    ANYTHING_CLEAN,
    NOTHING,
    Configuration,
    Envelope,
    Level,
)
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.shares import SHARES
from kraftcheck.traces.history import (
    ACKNOWLEDGE,
    OK,
    SHARE_POLL,
    Annotation,
    History,
    HistoryError,
)
from tests.traces.checkers import share_worlds as made
from tests.traces.checkers.share_worlds import GROUP, KEY, LIMIT, ShareWorld, worlds

CONFIGURATION = Configuration(
    consumers="share",
    one_client=False,
    reset="earliest",
    lock_s=ShareWorld.LOCK,
    delivery_limit=LIMIT,
)
SECOND = 10**9


def found(
    history: History,
    *,
    envelope: Envelope = NOTHING,
    complete: bool | None = False,
    **more: Any,
) -> dict[str, bool]:
    """Of each anomaly of a share group, whether it is allowed."""
    configuration = replace(CONFIGURATION, **more)
    report = check_history(
        history, configuration=configuration, envelope=envelope, complete=complete
    )
    return {each.name: each.allowed for each in report.anomalies if each.name in SHARES}


def test_every_order_of_small_records_says_the_same() -> None:
    wrong, seen = made.disagreements(1500, seed=58)
    assert not wrong, wrong[0]
    assert min(seen.values()) > 50, seen


@pytest.mark.parametrize("moves", [False, True])
def test_what_a_share_partition_can_do_holds(moves: bool) -> None:
    envelope = Envelope(leader_moves=1) if moves else NOTHING
    for world in worlds(60, 7, moves=moves):
        history = world.history(60)
        assert all(found(history, envelope=envelope).values())
        drained = world.drained()
        report = check_history(
            drained, configuration=CONFIGURATION, envelope=envelope, complete=True
        )
        assert report.holds, report


# -- A planted fault for each


def sent(world: ShareWorld, number: int = 1) -> ShareWorld:
    for _ in range(number):
        world.append()
    return world


def poll(world: ShareWorld, process: int, *records: tuple[int, int | None]) -> None:
    told = tuple((offset, 1000 + offset, count) for offset, count in records)
    world.tell(process, SHARE_POLL, key=KEY if told else None, argument=GROUP, result=told)


def ack(world: ShareWorld, process: int, offset: int, kind: str, outcome: str = OK) -> None:
    world.tell(process, ACKNOWLEDGE, outcome, key=KEY, argument=(GROUP, ((offset, kind),)))


def empty() -> ShareWorld:
    return next(worlds(1, 0))


def test_acked_redelivered() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    ack(world, 1, 0, "accept")
    poll(world, 2, (0, 2))
    report = check_history(world.whole(), configuration=CONFIGURATION, complete=False)
    assert report.verdict == "violated"
    assert {each.name for each in report.anomalies if not each.allowed} == {"acked-redelivered"}
    certificate = report.parts[-1].certificate
    assert certificate is not None
    assert certificate.operations == (2, 3)
    assert "offset 0: ACCEPT had succeeded before the poll was sent" in certificate.sentence


@pytest.mark.parametrize("outcome", ["fail", "indeterminate"])
def test_a_record_whose_acknowledgement_did_not_succeed_comes_again(outcome: str) -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    ack(world, 1, 0, "accept", outcome)
    world.clock += ShareWorld.LOCK
    poll(world, 2, (0, 2))
    assert found(world.whole()) == {}


def test_foreign_ack_accepted() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    world.clock += ShareWorld.LOCK
    poll(world, 2, (0, 2))
    ack(world, 1, 0, "accept")
    assert found(world.whole()) == {"foreign-ack-accepted": False}


def test_a_late_acknowledgement_of_what_is_done_is_no_anomaly() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    world.clock += ShareWorld.LOCK
    poll(world, 2, (0, 2))
    ack(world, 2, 0, "accept")
    ack(world, 1, 0, "accept")
    assert found(world.whole()) == {}


def test_double_acquisition_unless_a_leader_moved() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    poll(world, 2, (0, 2))
    history = world.whole()
    assert found(history) == {"double-acquisition": False}
    assert found(history, envelope=ANYTHING_CLEAN) == {"double-acquisition": True}
    assert found(replace(history, time_unit="event")) == {}


@pytest.mark.parametrize("renewed", [False, True])
def test_a_renewal_begins_the_lock_anew(renewed: bool) -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    world.clock += ShareWorld.LOCK - 6
    if renewed:
        ack(world, 1, 0, "renew")
    world.clock += 6
    poll(world, 2, (0, 2))
    assert found(world.whole()) == ({"double-acquisition": False} if renewed else {})


def test_over_delivered_and_count_repeated() -> None:
    world = sent(empty())
    for count in (1, 2, 3, 3):
        poll(world, 1, (0, count))
        ack(world, 1, 0, "release")
    assert found(world.whole()) == {"over-delivered": False, "count-repeated": False}


def test_skipped_record_only_if_consumers_read_to_the_end() -> None:
    world = sent(empty(), 3)
    poll(world, 1, (1, 1), (2, 1))
    history = world.whole()
    assert found(history, complete=True) == {"skipped-record": False}
    assert found(history, complete=True, reset="latest") == {}
    assert found(history, complete=False) == {}
    report = check_history(history, configuration=CONFIGURATION, complete=None)
    assert report.verdict == "unknown"
    assert "say --complete" in (report.parts[-1].reason or "")


def test_undelivered_archived() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    ack(world, 1, 0, "release")
    poll(world, 2)
    assert found(world.whole(), complete=True) == {"undelivered-archived": False}
    ack(world, 1, 0, "accept", "indeterminate")
    assert found(world.whole(), complete=True) == {}


def test_stalled_partition_unless_a_fault_lasts() -> None:
    world = sent(empty())
    for _ in range(4):
        world.clock += 100
        poll(world, 1)
    history = world.whole()
    assert found(history) == {"stalled-partition": False}
    assert found(history, stall_s=500) == {}


@pytest.mark.parametrize(("at", "stalls"), [(200, False), (500, True)])
def test_a_fault_excuses_what_comes_after_it(at: int, stalls: bool) -> None:
    """And nothing that was over before."""
    world = sent(empty())
    for _ in range(4):
        world.clock += 100
        poll(world, 1)
    fault = Annotation(at=at * SECOND, kind="fault", label="a broker is down")
    history = replace(world.whole(), annotations=(fault,))
    assert found(history) == ({"stalled-partition": False} if stalls else {})


@pytest.mark.parametrize("level", [Level.LINEARIZABLE])
def test_a_level_says_nothing_of_share_groups(level: Level) -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    ack(world, 1, 0, "accept")
    poll(world, 2, (0, 2))
    report = check_history(world.whole(), level=level, complete=False)
    assert report.holds


def test_a_record_that_nobody_sent_is_found_by_the_checker_of_logs() -> None:
    world = sent(empty())
    poll(world, 1, (0, 1))
    wrong = world.operations[-1]
    world.operations[-1] = replace(wrong, result=((0, 4711, 1),))
    report = check_history(world.whole(), configuration=CONFIGURATION, complete=False)
    assert not report.holds


def test_what_no_members_can_have_seen_is_refused() -> None:
    world = sent(empty())
    ack(world, 1, 0, "accept")
    with pytest.raises(HistoryError, match="acknowledges offset 0 of t-0, which it was never"):
        found(world.whole())
    world = sent(empty())
    poll(world, 1, (0, 1))
    world.tell(1, SHARE_POLL, key=None, argument="other", result=())
    with pytest.raises(HistoryError, match="process 1 is a member of g and of other"):
        found(world.whole())
