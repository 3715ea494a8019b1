"""Timers: what each kind of step does to them (1.3), and how long they are."""

from __future__ import annotations

from collections.abc import Collection

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.kit.log import EpochEnd
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.timers import (
    ROLE_TIMERS,
    Arm,
    Cancel,
    OverrideFetchTimeout,
    Timeouts,
    TimerEffect,
    bounds,
    election_backoff,
    election_backoff_slots,
    end_quorum_epoch_backoff,
    initial_timer_effects,
    timer_effects,
)
from kraftcheck.reference.quorum.types import Constants, Row
from tests.reference.quorum.builders import (
    ONE,
    THREE,
    fetch_request,
    fetch_response,
    leader_of,
    log_of,
    row_of,
    taken,
    vote_request,
)
from tests.reference.quorum.walks import walk

ELECTION, FETCH = ElectionTimeout(), FetchTimeout()
BEGIN, CHECK = BeginQuorumEpochTimeout(), CheckQuorumTimeout()


def effects(
    row: Row, input: Input, node: int = 1, constants: Constants = THREE
) -> list[TimerEffect]:
    outcome = taken(QuorumHandlers(constants).step(node, row, input))
    return list(timer_effects(constants, node, row, input, outcome))


# --- Durations


def test_the_defaults_are_kafkas_in_milliseconds() -> None:
    timeouts = Timeouts()
    assert bounds(timeouts, Arm(ELECTION, "draw")) == (1000, 1999)
    assert bounds(timeouts, Arm(FETCH, "fixed")) == (2000, 2000)
    assert bounds(timeouts, Arm(BEGIN, "fixed")) == (1000, 1000)
    assert bounds(timeouts, Arm(CHECK, "fixed")) == (3000, 3000)
    assert bounds(timeouts, Arm(RequestTimeout(2), "request")) == (2000, 2000)
    assert bounds(timeouts, Arm(RequestTimeout(2), "backoff")) == (20, 20)
    assert bounds(timeouts, Arm(FetchMaxWait(fetch_request()), "fixed")) == (500, 500)


def test_what_remains_is_not_known_here() -> None:
    with pytest.raises(AssertionError):
        bounds(Timeouts(), Arm(ELECTION, "keep-remaining"))


def test_a_loser_draws_from_twice_as_many_slots_each_time_up_to_the_longest() -> None:
    assert [election_backoff_slots(retries) for retries in (1, 2, 3, 21, 99)] == [
        *(2, 4, 8),
        *(2**21, 2**21),
    ]
    assert [election_backoff(Timeouts(), slot) for slot in (0, 1, 9, 10, 11)] == [
        *(0, 100, 900),
        *(1000, 1000),
    ]
    assert bounds(Timeouts(), Arm(ELECTION, "backoff")) == (0, 100)
    assert bounds(Timeouts(), Arm(ELECTION, "backoff"), retries=4) == (0, 1000)


@pytest.mark.parametrize(
    ("position", "count", "expected"),
    [
        *((0, 1, 0), (0, 5, 0)),
        *((1, 2, 500), (1, 4, 125), (2, 4, 250), (3, 4, 500)),
        *((-1, 4, 1000), (-1, 0, 1000)),
    ],
)
def test_what_end_quorum_epoch_leaves_of_the_fetch_timer(
    position: int, count: int, expected: int
) -> None:
    assert end_quorum_epoch_backoff(Timeouts(), position, count) == expected


@given(st.integers(1, 30))
def test_later_successors_wait_longer_and_nobody_longer_than_the_longest(count: int) -> None:
    waits = [end_quorum_epoch_backoff(Timeouts(), p, count) for p in range(count)]
    assert waits == sorted(waits)
    assert waits[0] == 0 and max(waits) <= end_quorum_epoch_backoff(Timeouts(), -1, count) == 1000


# --- Roles


def test_the_first_timer_is_the_election_timer() -> None:
    assert initial_timer_effects(THREE, 1) == (Arm(ELECTION, "draw"),)


PROSPECTIVE = replace(
    row_of("Prospective", 1, granted=(1,)), connections=("Ready", "Awaiting", "Awaiting")
)
CANDIDATE = replace(
    row_of("Candidate", 1, voted=1, granted=(1,)), connections=("Ready", "Awaiting", "Awaiting")
)
FOLLOWER = row_of("Follower", 1, leader=2, log=log_of(1))
LEADER = leader_of(1, 1, log_of(1, 1))


def answer(source: int, pre_vote: bool, granted: bool, row: Row, **more: int) -> VoteResponse:
    request = VoteRequest(1, source, row.epoch, 0, 0, pre_vote)
    epoch, leader = more.get("epoch", row.epoch), more.get("leader", -1)
    return VoteResponse(source, 1, "NONE", epoch, leader, granted, request)


def test_an_election_timeout_leads_to_a_fresh_draw() -> None:
    assert effects(row_of(), ELECTION) == [
        Arm(ELECTION, "draw"),
        Arm(RequestTimeout(2), "request"),
        Arm(RequestTimeout(3), "request"),
    ]


def test_an_undecided_prospective_that_times_out_has_nothing_left() -> None:
    """1.3, hand-over: the remaining time is kept, and of an expired timer nothing remains."""
    assert Arm(ELECTION, "keep-remaining") in effects(PROSPECTIVE, ELECTION)


def test_a_prospective_that_lost_draws_anew() -> None:
    lost = replace(PROSPECTIVE, rejected=(3,))
    assert Arm(ELECTION, "draw") in effects(lost, answer(2, True, False, lost))


def test_a_prospective_that_hears_of_a_later_epoch_keeps_its_time() -> None:
    m = answer(2, True, False, PROSPECTIVE, epoch=3)
    assert Arm(ELECTION, "keep-remaining") in effects(PROSPECTIVE, m)


@pytest.mark.parametrize(
    "row", [row_of("Unattached", 1), CANDIDATE, row_of("Resigned", 1, leader=1)]
)
def test_election_time_is_handed_over_to_unattached(row: Row) -> None:
    refused = vote_request(epoch=3, last_epoch=0, last_offset=0, pre_vote=True)
    assert Arm(ELECTION, "keep-remaining") in effects(row, refused)


@pytest.mark.parametrize("row", [FOLLOWER, LEADER])
def test_other_roles_draw_when_they_become_unattached(row: Row) -> None:
    refused = vote_request(epoch=3, last_epoch=0, last_offset=0)
    assert Arm(ELECTION, "draw") in effects(row, refused)


def test_a_resigned_leader_goes_on_at_once_when_its_time_is_over() -> None:
    row = row_of("Resigned", 1, leader=1)
    assert effects(row, ELECTION) == [Arm(ELECTION, "keep-remaining")]


def test_granting_a_standard_vote_draws_anew() -> None:
    m = vote_request(epoch=2, last_epoch=1, last_offset=1)
    assert effects(row_of("Unattached", 1), m) == [Arm(ELECTION, "draw")]
    assert effects(row_of("Unattached", 2), m) == [Arm(ELECTION, "draw")]
    prospective = row_of("Prospective", 2, granted=(1,), rejected=(3,))
    assert Arm(ELECTION, "draw") in effects(prospective, m)


def test_granting_again_or_granting_a_pre_vote_draws_nothing() -> None:
    voted = row_of("Unattached", 2, voted=2)
    assert effects(voted, vote_request(epoch=2)) == []
    assert effects(row_of("Unattached", 2), vote_request(epoch=2, pre_vote=True)) == []


def test_a_candidate_that_lost_backs_off() -> None:
    first = effects(CANDIDATE, answer(2, False, False, CANDIDATE))
    assert first == [Cancel(RequestTimeout(2))]
    once = replace(CANDIDATE, rejected=(2,), connections=("Ready", "Ready", "Awaiting"))
    assert effects(once, answer(3, False, False, once)) == [
        Arm(ELECTION, "backoff"),
        Cancel(RequestTimeout(3)),
    ]


def test_a_lost_candidate_backs_off_once() -> None:
    constants = Constants((1, 2, 3, 4), 2)
    row = row_of("Candidate", 1, voted=1, granted=(1,), rejected=(2, 3), constants=constants)
    row = replace(row, connections=("Ready", "Ready", "Ready", "Awaiting"))
    m = answer(4, False, False, row)
    assert effects(row, m, constants=constants) == [Cancel(RequestTimeout(4))]


def test_a_new_leader_announces_itself_and_watches_its_quorum() -> None:
    assert effects(CANDIDATE, answer(2, False, True, CANDIDATE)) == [
        Cancel(ELECTION),
        Arm(BEGIN, "fixed"),
        Arm(CHECK, "fixed"),
        Arm(RequestTimeout(2), "request"),
        Arm(RequestTimeout(3), "request"),
    ]


def test_a_sole_voter_leads_without_asking() -> None:
    assert effects(row_of(constants=ONE), ELECTION, constants=ONE) == [
        Cancel(ELECTION),
        Arm(BEGIN, "fixed"),
        Arm(CHECK, "fixed"),
    ]


def test_a_new_follower_fetches() -> None:
    assert effects(row_of(), BeginQuorumEpochRequest(2, 1, 1)) == [
        Cancel(ELECTION),
        Arm(FETCH, "fixed"),
        Arm(RequestTimeout(2), "request"),
    ]


def test_the_leader_of_a_later_epoch_starts_the_fetch_timer_anew() -> None:
    assert Arm(FETCH, "fixed") in effects(FOLLOWER, BeginQuorumEpochRequest(3, 1, 2))
    assert (
        effects(
            replace(FOLLOWER, connections=("Ready", "Awaiting", "Ready")),
            BeginQuorumEpochRequest(2, 1, 1),
        )
        == []
    )


def test_a_crash_cancels_everything() -> None:
    m = fetch_request(fetch_offset=2, last_fetched_epoch=1)
    row = replace(LEADER, parked=(m,), connections=("Ready", "Awaiting", "BackingOff"))
    assert effects(row, Crash(2)) == [
        Cancel(BEGIN),
        Cancel(CHECK),
        Cancel(FetchMaxWait(m)),
        Cancel(RequestTimeout(2)),
        Cancel(RequestTimeout(3)),
    ]


def test_a_restart_arms_the_timers_of_the_role() -> None:
    down = row_of("Down", 1, leader=2, log=log_of(1))
    assert effects(down, Restart()) == [Arm(FETCH, "fixed"), Arm(RequestTimeout(2), "request")]
    down = row_of("Down", 1, log=log_of(1))
    assert effects(down, Restart()) == [Arm(ELECTION, "draw")]


# --- Within a role


ASKED = replace(FOLLOWER, connections=("Ready", "Awaiting", "Ready"))
ASKING = fetch_request(1, 2, 1, 1, 1)


@pytest.mark.parametrize(
    "more", [{}, {"records": log_of(1)}, {"diverging": EpochEnd(1, 0)}, {"high_watermark": 1}]
)
def test_any_successful_fetch_resets_the_fetch_timer(more: dict[str, object]) -> None:
    """Q16."""
    assert effects(ASKED, fetch_response(ASKING, **more)) == [
        Arm(FETCH, "fixed"),
        Arm(RequestTimeout(2), "request"),
    ]


def test_an_error_or_an_unawaited_answer_does_not() -> None:
    assert effects(FOLLOWER, fetch_response(ASKING)) == []
    refused = fetch_response(ASKING, error="NOT_LEADER_OR_FOLLOWER", leader=-1)
    assert effects(ASKED, refused) == [Arm(RequestTimeout(2), "backoff")]


def test_end_quorum_epoch_shortens_the_fetch_timer() -> None:
    """Q11."""
    assert effects(ASKED, EndQuorumEpochRequest(2, 1, 1, (3, 1))) == [OverrideFetchTimeout(1, 2)]
    assert effects(ASKED, EndQuorumEpochRequest(2, 1, 1, ())) == [OverrideFetchTimeout(-1, 0)]


def test_end_quorum_epoch_of_another_epoch_does_not() -> None:
    later = replace(ASKED, epoch=2, quorum_state=replace(ASKED.quorum_state, epoch=2))
    assert effects(later, EndQuorumEpochRequest(2, 1, 1, (1,))) == []
    assert effects(LEADER, EndQuorumEpochRequest(2, 1, 0, (1,))) == []


def test_end_quorum_epoch_from_an_unknown_leader_arms_then_shortens() -> None:
    assert effects(row_of(), EndQuorumEpochRequest(2, 1, 1, (1, 3))) == [
        Cancel(ELECTION),
        Arm(FETCH, "fixed"),
        OverrideFetchTimeout(0, 2),
        Arm(RequestTimeout(2), "request"),
    ]


def test_a_leader_announces_itself_for_as_long_as_it_leads() -> None:
    busy = replace(LEADER, connections=("Ready", "Awaiting", "Ready"))
    assert effects(busy, BEGIN) == [Arm(BEGIN, "fixed"), Arm(RequestTimeout(3), "request")]


def test_a_round_of_fetches_re_arms_check_quorum() -> None:
    """Q15. In a quorum of five, two other voters complete a round."""
    five = Constants((1, 2, 3, 4, 5), 2)
    row = leader_of(1, 1, log_of(1, 1), constants=five)
    m = fetch_request(2, 1, 1, 1, 1)
    assert effects(row, m, constants=five) == []
    noted = replace(row, fetched_voters=(3,))
    assert effects(noted, m, constants=five) == [Arm(CHECK, "fixed")]


def test_a_fetch_that_is_parked_completes_a_round_and_waits() -> None:
    m = fetch_request(2, 1, 1, 2, 1)
    assert effects(LEADER, m) == [Arm(CHECK, "fixed"), Arm(FetchMaxWait(m), "fixed")]


def test_a_refused_or_diverging_fetch_completes_nothing() -> None:
    assert effects(LEADER, fetch_request(2, 1, 0, 1, 0)) == []
    assert effects(LEADER, fetch_request(2, 1, 1, 9, 1)) == []


def test_a_fetch_that_is_served_later_waits_no_longer() -> None:
    m = fetch_request(2, 1, 1, 2, 1)
    row = replace(LEADER, log=log_of(1, 1, 1), parked=(m,))
    assert effects(row, Flush()) == [Cancel(FetchMaxWait(m))]
    assert effects(row, FetchMaxWait(m)) == [Cancel(FetchMaxWait(m))]
    assert effects(row, Append(7)) == []


def test_a_leader_that_resigns_answers_whom_it_parked() -> None:
    m = fetch_request(2, 1, 1, 2, 1)
    assert effects(replace(LEADER, parked=(m,)), Resign()) == [
        Cancel(BEGIN),
        Cancel(CHECK),
        Arm(ELECTION, "draw"),
        Cancel(FetchMaxWait(m)),
        Arm(RequestTimeout(2), "request"),
        Arm(RequestTimeout(3), "request"),
    ]


# --- As a whole: a clock that follows the effects


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_a_clock_that_follows_the_effects_holds_the_timers_of_the_row(
    voters: int, seed: int
) -> None:
    constants = Constants(tuple(range(1, voters + 1)), 2)
    armed = {
        v: {e.timer for e in initial_timer_effects(constants, v) if isinstance(e, Arm)}
        for v in constants.voters
    }
    for step in walk(QuorumHandlers(constants), seed, 60):
        clock = armed[step.node]
        # In a walk a timer may fire when it is not armed; a real clock fires only what it holds.
        clock.discard(step.input)
        before = step.before[step.node]
        for effect in timer_effects(constants, step.node, before, step.input, step.outcome):
            if isinstance(effect, Cancel):
                clock.discard(effect.timer)
            elif isinstance(effect, Arm):
                clock.add(effect.timer)
            else:
                assert FETCH in clock
        check_clock(constants, step.outcome.row, clock)


def check_clock(constants: Constants, row: Row, clock: Collection[object]) -> None:
    """What the spec's guards say can happen next is what is armed, and nothing else."""
    expected: set[object] = set(ROLE_TIMERS[row.role])
    expected |= {FetchMaxWait(m) for m in row.parked}
    expected |= {
        RequestTimeout(peer)
        for peer, connection in zip(constants.voters, row.connections, strict=True)
        if connection != "Ready"
    }
    assert set(clock) == expected
