"""KIP-996, pre-vote: one test for each claim that is used. Node 1 of three is the one that acts."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.quorum.messages import (
    BeginQuorumEpochRequest,
    ElectionTimeout,
    FetchRequest,
    FetchTimeout,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.types import NOBODY, Row
from tests.reference.quorum.builders import (
    ONE,
    leader_of,
    log_of,
    only,
    row_of,
    vote_request,
)
from tests.reference.quorum.test_kip_595 import step, vote_answer


def prospective(leader: int = NOBODY, voted: int = NOBODY, **more: object) -> Row:
    """Node 1 in epoch 2, waiting for two answers to its pre-vote."""
    row = row_of("Prospective", 2, leader, voted, log_of(1), granted=(1,))
    return replace(row, connections=("Ready", "Awaiting", "Awaiting"), **more)


def pre_vote_of(source: int, granted: bool, epoch: int = 2, leader: int = NOBODY) -> VoteResponse:
    request = VoteRequest(1, source, 2, 1, 1, pre_vote=True)
    return VoteResponse(source, 1, "NONE", epoch, leader, granted, request)


def pre_vote(epoch: int = 2, last_epoch: int = 1, last_offset: int = 1) -> VoteRequest:
    return vote_request(2, 1, epoch, last_epoch, last_offset, pre_vote=True)


# --- Asking


@pytest.mark.parametrize(
    ("row", "timeout"),
    [
        (row_of("Unattached", 2, voted=3, log=log_of(1)), ElectionTimeout()),
        (row_of("Candidate", 2, voted=1, granted=(1,), log=log_of(1)), ElectionTimeout()),
        (row_of("Follower", 2, 3, 3, log_of(1)), FetchTimeout()),
    ],
)
def test_a_voter_asks_before_it_stands(row: Row, timeout: ElectionTimeout | FetchTimeout) -> None:
    """1.2: in its own epoch, with its vote and its leader kept, and nothing new on disk (Q2)."""
    outcome = step(row, timeout)
    after = outcome.row
    assert (after.role, after.epoch, after.granted) == ("Prospective", 2, (1,))
    assert (after.leader, after.voted) == (row.leader, row.voted)
    assert after.quorum_state == row.quorum_state
    assert outcome.sent == (
        VoteRequest(1, 2, 2, 1, 1, pre_vote=True),
        VoteRequest(1, 3, 2, 1, 1, pre_vote=True),
    )


def test_who_wins_the_pre_vote_stands_in_the_next_epoch() -> None:
    """1.2, Q8: now the epoch is taken and the own vote given, durably."""
    outcome = step(prospective(voted=3), pre_vote_of(2, True))
    after = outcome.row
    assert (after.role, after.epoch, after.voted, after.leader) == ("Candidate", 3, 1, NOBODY)
    assert (after.quorum_state.epoch, after.quorum_state.voted) == (3, 1)
    assert outcome.sent == (
        VoteRequest(1, 2, 3, 1, 1, pre_vote=False),
        VoteRequest(1, 3, 3, 1, 1, pre_vote=False),
    )


@pytest.mark.parametrize("leader", [NOBODY, 3])
def test_who_loses_the_pre_vote_goes_back_to_where_it_came_from(leader: int) -> None:
    """1.2, Q8: Follower of the leader that it knows, else Unattached; its vote is kept."""
    once = step(prospective(leader, voted=2), pre_vote_of(2, False, leader=leader)).row
    assert (once.role, once.rejected) == ("Prospective", (2,))
    outcome = step(once, pre_vote_of(3, False, leader=leader))
    after = outcome.row
    assert after.role == ("Unattached" if leader == NOBODY else "Follower")
    assert (after.epoch, after.leader, after.voted) == (2, leader, 2)


@pytest.mark.parametrize("leader", [NOBODY, 3])
def test_who_waits_too_long_goes_back_too(leader: int) -> None:
    """1.2."""
    after = step(prospective(leader, voted=2), ElectionTimeout()).row
    assert after.role == ("Unattached" if leader == NOBODY else "Follower")
    assert (after.epoch, after.leader, after.voted) == (2, leader, 2)


def test_who_learns_of_a_leader_follows_it() -> None:
    """Q8, Q10: from a response, or from the leader itself."""
    told = step(prospective(voted=2), pre_vote_of(2, False, leader=3))
    assert (told.row.role, told.row.leader, told.row.voted) == ("Follower", 3, 2)
    assert isinstance(only(told), FetchRequest)
    begun = step(prospective(voted=2), BeginQuorumEpochRequest(3, 1, 2)).row
    assert (begun.role, begun.leader, begun.voted) == ("Follower", 3, 2)


def test_only_who_has_won_a_pre_vote_is_a_candidate() -> None:
    """1.2: a candidate that times out asks again first, in the epoch in which it stood."""
    row = row_of("Candidate", 2, voted=1, granted=(1,), log=log_of(1))
    after = step(row, ElectionTimeout()).row
    assert (after.role, after.epoch, after.voted) == ("Prospective", 2, 1)


def test_a_sole_voter_asks_nobody() -> None:
    """1.2, Q3."""
    after = step(row_of(constants=ONE), ElectionTimeout(), ONE).row
    assert (after.role, after.epoch) == ("Leader", 2)


# --- Answering


def test_a_pre_vote_changes_nothing_and_may_be_given_to_many() -> None:
    """Q7."""
    row = row_of("Unattached", 2, log=log_of(1))
    outcome = step(row, pre_vote())
    assert outcome.row == row
    assert vote_answer(row, pre_vote()).granted
    other = replace(pre_vote(), source=3)
    assert vote_answer(outcome.row, other).granted
    assert vote_answer(row_of("Unattached", 2, voted=3), pre_vote()).granted


def test_a_pre_vote_of_a_later_epoch_moves_the_voter_to_that_epoch() -> None:
    """Q5 (f)."""
    outcome = step(leader_of(1, 1, log_of(1)), pre_vote(epoch=4))
    assert (outcome.row.role, outcome.row.epoch, outcome.row.voted) == ("Unattached", 4, NOBODY)
    assert outcome.row.quorum_state.epoch == 4


@pytest.mark.parametrize(
    ("row", "granted"),
    [
        (row_of("Unattached", 2, log=log_of(1)), True),
        (row_of("Unattached", 2, leader=3, log=log_of(1)), True),
        (prospective(), True),
        (row_of("Candidate", 2, voted=1, granted=(1,), rejected=(2, 3), log=log_of(1)), True),
        (row_of("Resigned", 2, leader=1, log=log_of(1)), True),
        (leader_of(1, 2, log_of(2)), False),
    ],
)
def test_who_grants_a_pre_vote(row: Row, granted: bool) -> None:
    """Q6: everybody but a leader, if the log is long enough."""
    answers = [m for m in step(row, pre_vote()).sent if isinstance(m, VoteResponse)]
    assert [m.granted for m in answers] == [granted]
    short = [m for m in step(row, pre_vote(last_epoch=0, last_offset=0)).sent]
    assert not any(isinstance(m, VoteResponse) and m.granted for m in short)


@pytest.mark.parametrize("has_fetched", [True, False])
def test_a_follower_refuses_once_it_has_fetched_from_its_leader(has_fetched: bool) -> None:
    """Q6 (KAFKA-17641)."""
    row = row_of("Follower", 2, leader=3, log=log_of(1), has_fetched=has_fetched)
    row = replace(row, connections=("Ready", "Ready", "Awaiting"))
    assert vote_answer(row, pre_vote()).granted == (not has_fetched)


def test_followers_of_a_dead_leader_do_not_refuse_each_other_for_ever() -> None:
    """Q6: who went back from a lost pre-vote has not fetched since, and grants the next one."""
    row = row_of("Follower", 2, leader=3, log=log_of(1), has_fetched=True)
    asking = step(row, FetchTimeout()).row
    back = step(asking, ElectionTimeout()).row
    assert (back.role, back.has_fetched) == ("Follower", False)
    waiting = replace(back, connections=("Ready", "Ready", "Awaiting"))
    assert vote_answer(waiting, pre_vote()).granted


def test_a_prospective_may_give_its_standard_vote() -> None:
    """1.2, Q7: it stays Prospective, and its own round begins anew."""
    row = prospective(rejected=(3,))
    row = replace(row, connections=("Ready", "Awaiting", "Ready"))
    outcome = step(row, vote_request(epoch=2, last_epoch=1, last_offset=1))
    after = outcome.row
    assert (after.role, after.voted, after.granted, after.rejected) == ("Prospective", 2, (1,), ())
    assert after.quorum_state.voted == 2
    asked = [m.destination for m in outcome.sent if isinstance(m, VoteRequest)]
    assert asked == [3]


def test_a_nominee_may_have_records_of_the_epoch_that_it_asks_in() -> None:
    """Q5 (c): a pre-vote is asked in the epoch of the log, a standard vote in a later one."""
    row = row_of("Unattached", 2)
    assert vote_answer(row, pre_vote(epoch=2, last_epoch=2)).error == "NONE"
    assert vote_answer(row, vote_request(epoch=2, last_epoch=2)).error == "INVALID_REQUEST"
    assert vote_answer(row, pre_vote(epoch=2, last_epoch=3)).error == "INVALID_REQUEST"
