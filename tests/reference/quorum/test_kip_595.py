"""KIP-595, a Raft protocol for the metadata quorum: one test for each claim that is used.

Each test names the part of the KIP and the protocol rule. Node 1 of three is the one that acts.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.kit.log import CacheEntry, Entry, EpochEnd, cache_of
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import (
    NO_DIVERGENCE,
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchMaxWait,
    FetchRequest,
    FetchResponse,
    FetchTimeout,
    Flush,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.quorum.types import (
    LEADER_CHANGE,
    NOBODY,
    UNDEFINED,
    Constants,
    Outcome,
    QuorumStateFile,
    Role,
    Row,
    initial_row,
)
from tests.reference.quorum.builders import (
    FIVE,
    ONE,
    THREE,
    fetch_request,
    fetch_response,
    leader_of,
    log_of,
    only,
    row_of,
    taken,
    vote_request,
)


def step(row: Row, input: Input, constants: Constants = THREE, node: int = 1) -> Outcome:
    return taken(QuorumHandlers(constants).step(node, row, input))


def vote_answer(row: Row, m: VoteRequest) -> VoteResponse:
    answer = only(step(row, m))
    assert isinstance(answer, VoteResponse)
    assert (answer.source, answer.destination, answer.request) == (1, m.source, m)
    return answer


def candidate(constants: Constants = THREE, **more: object) -> Row:
    """Node 1 in epoch 2 with a log of epoch 1, waiting for everybody's vote."""
    row = row_of("Candidate", 2, NOBODY, 1, log_of(1), constants, granted=(1,))
    waiting = ("Ready", *("Awaiting" for _ in constants.voters[1:]))
    return replace(row, connections=waiting, **more)


def vote_of(
    source: int, granted: bool, epoch: int = 2, leader: int = NOBODY, error: str = "NONE"
) -> VoteResponse:
    request = VoteRequest(1, source, 2, 1, 1, pre_vote=False)
    return VoteResponse(source, 1, error, epoch, leader, granted, request)  # type: ignore[arg-type]


# --- Vote: requests


def test_a_vote_request_of_an_older_epoch_is_fenced() -> None:
    """Vote (Q5 d)."""
    answer = vote_answer(row_of("Unattached", 3), vote_request(epoch=2))
    assert (answer.error, answer.epoch, answer.granted) == ("FENCED_LEADER_EPOCH", 3, False)


@pytest.mark.parametrize(
    ("epoch", "last_epoch", "last_offset", "pre_vote"),
    [(2, 2, 1, False), (2, 3, 1, True), (2, -1, 1, False), (2, 1, -1, False)],
)
def test_an_impossible_end_of_log_is_invalid(
    epoch: int, last_epoch: int, last_offset: int, pre_vote: bool
) -> None:
    """Vote (Q5 c): before the epoch is looked at, and without taking the epoch over."""
    m = vote_request(2, 1, epoch, last_epoch, last_offset, pre_vote)
    for own in (1, 2, 3):
        outcome = step(row_of("Unattached", own), m)
        answer = only(outcome)
        assert isinstance(answer, VoteResponse) and answer.error == "INVALID_REQUEST"
        assert outcome.row.epoch == own


@pytest.mark.parametrize("role", ["Unattached", "Candidate", "Leader", "Follower", "Resigned"])
def test_a_later_epoch_is_taken_over_before_the_vote_is_decided(role: Role) -> None:
    """Vote (Q5 f)."""
    rows = {
        "Leader": leader_of(1, 1, log_of(1)),
        "Follower": row_of("Follower", 1, 2, log=log_of(1)),
        "Candidate": row_of("Candidate", 1, voted=1, granted=(1,), log=log_of(1)),
        "Resigned": row_of("Resigned", 1, 1, 1, log_of(1)),
        "Unattached": row_of("Unattached", 1, log=log_of(1)),
    }
    refused = vote_request(epoch=5, last_epoch=0, last_offset=0)
    outcome = step(rows[role], refused)
    assert (outcome.row.role, outcome.row.epoch, outcome.row.voted) == ("Unattached", 5, NOBODY)
    assert outcome.row.leader == NOBODY
    granted = vote_request(epoch=5, last_epoch=1, last_offset=1)
    assert step(rows[role], granted).row.voted == 2


def test_a_vote_is_on_disk_when_it_is_answered() -> None:
    """Quorum state (Q2, Q7): what the step leaves is what is durable when its messages go out."""
    outcome = step(row_of("Unattached", 2), vote_request(epoch=2))
    assert outcome.row.quorum_state == QuorumStateFile(2, NOBODY, 2)


def test_a_voter_votes_once_in_an_epoch() -> None:
    """Vote (Q6): the same nominee is told yes again, another is told no."""
    voted = row_of("Unattached", 2, voted=2)
    assert vote_answer(voted, vote_request(2, epoch=2)).granted
    assert not vote_answer(voted, vote_request(3, epoch=2)).granted


def test_nobody_votes_against_a_leader_that_it_knows() -> None:
    """Vote (Q6): a voter may remember a leader that it cannot reach."""
    assert not vote_answer(row_of("Unattached", 2, leader=3), vote_request(epoch=2)).granted


@pytest.mark.parametrize(
    ("last_epoch", "last_offset", "granted"),
    [(1, 9, False), (2, 2, False), (2, 3, True), (2, 4, True), (3, 1, True)],
)
def test_a_vote_goes_to_a_log_at_least_as_long(
    last_epoch: int, last_offset: int, granted: bool
) -> None:
    """Vote (Q6 logOk): last epoch first, then length."""
    row = row_of("Unattached", 4, log=log_of(1, 1, 2))
    m = vote_request(epoch=4, last_epoch=last_epoch, last_offset=last_offset)
    assert vote_answer(row, m).granted == granted


@pytest.mark.parametrize(
    "row",
    [
        row_of("Follower", 2, leader=3),
        row_of("Candidate", 2, voted=1, granted=(1,)),
        row_of("Resigned", 2, leader=1),
        leader_of(1, 2, log_of(2)),
    ],
)
def test_only_a_voter_without_a_role_grants_a_vote(row: Row) -> None:
    """Vote (Q6)."""
    assert not only_vote(step(row, vote_request(epoch=2, last_offset=9))).granted


def only_vote(outcome: Outcome) -> VoteResponse:
    (answer,) = [m for m in outcome.sent if isinstance(m, VoteResponse)]
    return answer


# --- Vote: responses


def test_a_candidate_with_a_majority_leads() -> None:
    """Vote (Q8)."""
    assert step(candidate(), vote_of(2, True)).row.role == "Leader"
    first = step(candidate(FIVE), vote_of(2, True), FIVE).row
    assert (first.role, first.granted) == ("Candidate", (1, 2))
    assert step(first, vote_of(4, True), FIVE).row.role == "Leader"


def test_a_candidate_without_hope_asks_nobody_and_waits() -> None:
    """Vote (Q8): a majority has become impossible; it backs off before the next election."""
    once = step(candidate(), vote_of(2, False)).row
    assert (once.role, once.rejected) == ("Candidate", (2,))
    lost = step(once, vote_of(3, False))
    assert (lost.row.role, lost.row.rejected, lost.sent) == ("Candidate", (2, 3), ())


def test_a_vote_is_counted_once() -> None:
    """Vote (Q8, Q22): its connection no longer awaits anything."""
    once = step(candidate(FIVE), vote_of(2, True), FIVE).row
    again = step(once, vote_of(2, False), FIVE)
    assert again.ignored == "NotAwaited"
    assert again.row.granted == (1, 2)


def test_a_response_of_a_later_epoch_ends_the_candidacy() -> None:
    """Vote (Q8): with a leader it leads to Follower, without to Unattached."""
    unattached = step(candidate(), vote_of(2, False, epoch=4, error="FENCED_LEADER_EPOCH")).row
    assert (unattached.role, unattached.epoch) == ("Unattached", 4)
    follower = step(candidate(), vote_of(2, False, epoch=4, leader=3)).row
    assert (follower.role, follower.epoch, follower.leader) == ("Follower", 4, 3)


def test_a_response_that_names_the_leader_of_the_epoch_ends_the_candidacy() -> None:
    """Vote (Q8): and what the candidate has voted stays with it."""
    follower = step(candidate(), vote_of(2, False, leader=3))
    assert (follower.row.role, follower.row.leader, follower.row.voted) == ("Follower", 3, 1)
    assert isinstance(only(follower), FetchRequest)


# --- A new leader


def test_a_leader_opens_its_epoch_with_a_record_of_its_own() -> None:
    """Leader election (Q9): offset, epoch cache, and a high watermark that is not known."""
    row = step(replace(candidate(), high_watermark=1), vote_of(2, True)).row
    assert row.log == (*log_of(1), Entry(2, LEADER_CHANGE))
    assert (row.epoch_start, row.high_watermark, row.flushed) == (1, UNDEFINED, 1)
    assert row.epoch_cache == (CacheEntry(1, 0), CacheEntry(2, 1))
    assert row.quorum_state == QuorumStateFile(2, 1, 1)


def test_a_leader_announces_itself_to_all_at_once() -> None:
    """BeginQuorumEpoch (Q9)."""
    assert step(candidate(), vote_of(2, True)).sent == (
        BeginQuorumEpochRequest(1, 2, 2),
        BeginQuorumEpochRequest(1, 3, 2),
    )


def test_the_state_machine_hears_that_it_leads_once_its_epoch_is_committed() -> None:
    """Leader election (Q9, KAFKA-17333)."""
    row = leader_of(1, 2, log_of(1, 2), end_offsets=(-1, 1, 1), high_watermark=UNDEFINED)
    assert row.announced == UNDEFINED
    behind = step(row, fetch_request(2, 1, 2, 1, 1)).row
    assert (behind.high_watermark, behind.announced) == (UNDEFINED, UNDEFINED)
    caught_up = step(behind, fetch_request(2, 1, 2, 2, 2)).row
    assert (caught_up.high_watermark, caught_up.announced) == (2, 2)


# --- BeginQuorumEpoch, EndQuorumEpoch


def test_begin_quorum_epoch_makes_a_follower() -> None:
    """BeginQuorumEpoch (Q10): and the follower fetches at once."""
    outcome = step(row_of("Unattached", 1, log=log_of(1)), BeginQuorumEpochRequest(2, 1, 2))
    assert (outcome.row.role, outcome.row.epoch, outcome.row.leader) == ("Follower", 2, 2)
    response, fetch = outcome.sent
    assert isinstance(response, BeginQuorumEpochResponse) and response.error == "NONE"
    assert fetch == FetchRequest(1, 2, epoch=2, fetch_offset=1, last_fetched_epoch=1)


@pytest.mark.parametrize(
    "m", [BeginQuorumEpochRequest(2, 1, 1), EndQuorumEpochRequest(2, 1, 1, ())]
)
def test_an_older_leader_is_fenced(m: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> None:
    """BeginQuorumEpoch, EndQuorumEpoch (Q10): told of the epoch and leader that are known."""
    row = row_of("Follower", 2, leader=3, connections=("Ready", "Ready", "Awaiting"))
    answer = only(step(row, m))
    assert isinstance(answer, BeginQuorumEpochResponse | EndQuorumEpochResponse)
    assert (answer.error, answer.epoch, answer.leader) == ("FENCED_LEADER_EPOCH", 2, 3)


def test_begin_quorum_epoch_is_sent_for_the_whole_leadership() -> None:
    """BeginQuorumEpoch (1.3): also to who has answered, but one at a time."""
    row = leader_of(1, 1, log_of(1), connections=("Ready", "Ready", "Awaiting"))
    outcome = step(row, BeginQuorumEpochTimeout())
    assert outcome.sent == (BeginQuorumEpochRequest(1, 2, 1),)
    assert outcome.row.connections == ("Ready", "Awaiting", "Awaiting")


def test_a_leader_that_resigns_names_its_successors_longest_log_first() -> None:
    """EndQuorumEpoch (Q11): its epoch and what is on disk stay."""
    row = leader_of(1, 1, log_of(1, 1, 1), end_offsets=(-1, 2, 3))
    outcome = step(row, Resign())
    assert outcome.sent == (
        EndQuorumEpochRequest(1, 2, 1, (3, 2)),
        EndQuorumEpochRequest(1, 3, 1, (3, 2)),
    )
    assert (outcome.row.role, outcome.row.epoch, outcome.row.unacked) == ("Resigned", 1, (2, 3))
    assert outcome.row.quorum_state == row.quorum_state


def test_a_resigned_leader_tells_each_voter_until_it_has_answered() -> None:
    """EndQuorumEpoch (Q11)."""
    resigned = step(leader_of(1, 1, log_of(1)), Resign()).row
    request = EndQuorumEpochRequest(1, 2, 1, resigned.successors)
    told = step(resigned, EndQuorumEpochResponse(2, 1, "NONE", 1, 1, request))
    assert (told.row.unacked, told.sent) == ((3,), ())
    again = step(told.row, RequestTimeout(3))
    assert again.sent == (EndQuorumEpochRequest(1, 3, 1, resigned.successors),)


def test_a_resigned_leader_leaves_its_epoch() -> None:
    """EndQuorumEpoch (1.2, KAFKA-18379): nobody may follow itself."""
    row = step(row_of("Resigned", 1, 1, 1, log_of(1)), ElectionTimeout()).row
    assert (row.role, row.epoch, row.leader, row.voted) == ("Unattached", 2, NOBODY, NOBODY)
    assert row.quorum_state == QuorumStateFile(2, NOBODY, NOBODY)


def test_a_leader_is_told_of_a_later_one() -> None:
    """BeginQuorumEpoch (Q10)."""
    row = step(leader_of(1, 1, log_of(1)), BeginQuorumEpochRequest(2, 1, 3)).row
    assert (row.role, row.epoch, row.leader, row.epoch_start) == ("Follower", 3, 2, UNDEFINED)


# --- Fetch: what the leader does


@pytest.mark.parametrize(
    ("m", "error"),
    [
        (fetch_request(2, 1, 2, -1, 1), "INVALID_REQUEST"),
        (fetch_request(2, 1, 2, 1, -1), "INVALID_REQUEST"),
        (fetch_request(2, 1, 2, 1, 3), "INVALID_REQUEST"),
        (fetch_request(2, 1, 1, 1, 1), "FENCED_LEADER_EPOCH"),
        (fetch_request(2, 1, 3, 1, 1), "UNKNOWN_LEADER_EPOCH"),
    ],
)
def test_a_leader_refuses_a_fetch_of_another_epoch(m: FetchRequest, error: str) -> None:
    """Fetch (Q12): in this order, with the epoch and leader that are known, and noting nothing."""
    row = leader_of(1, 2, log_of(1, 2))
    outcome = step(row, m)
    answer = only(outcome)
    assert isinstance(answer, FetchResponse)
    assert (answer.error, answer.epoch, answer.leader) == (error, 2, 1)
    assert answer.high_watermark == UNDEFINED
    assert outcome.row == row


def test_who_does_not_lead_says_so() -> None:
    """Fetch (Q12)."""
    row = row_of("Follower", 2, leader=3, connections=("Ready", "Ready", "Awaiting"))
    answer = only(step(row, fetch_request(2, 1, 2)))
    assert isinstance(answer, FetchResponse)
    assert (answer.error, answer.leader) == ("NOT_LEADER_OR_FOLLOWER", 3)


def test_a_fetch_is_served_from_its_offset_up_to_a_limit() -> None:
    """Fetch (Q13): two records at a time here."""
    row = leader_of(1, 2, log_of(1, 1, 2, 2))
    answer = only(step(row, fetch_request(2, 1, 2, 1, 1)))
    assert isinstance(answer, FetchResponse)
    assert (answer.records, answer.diverging) == (row.log[1:3], NO_DIVERGENCE)


def test_a_leader_serves_and_counts_only_what_is_on_its_disk() -> None:
    """Fetch (Q14): nothing may reach a follower before it is flushed."""
    row = leader_of(1, 2, log_of(1, 2, 2), flushed=2, end_offsets=(-1, 2, 2))
    outcome = step(row, fetch_request(2, 1, 2, 2, 2))
    assert outcome.sent == ()
    assert outcome.row.high_watermark == 2


def test_a_fetch_tells_the_leader_where_the_followers_log_ends() -> None:
    """Fetch (Q13): the offset that is asked for, not the one behind what is served."""
    row = leader_of(1, 2, log_of(1, 2, 2))
    assert step(row, fetch_request(2, 1, 2, 1, 1)).row.end_offsets == (-1, 1, -1)


def test_a_log_that_departs_is_told_where() -> None:
    """Fetch (Q13): the epoch and its end, no records, and nothing noted."""
    row = leader_of(1, 4, log_of(1, 1, 3, 4))
    outcome = step(row, fetch_request(2, 1, 4, 3, 2))
    answer = only(outcome)
    assert isinstance(answer, FetchResponse)
    assert (answer.diverging, answer.records) == (EpochEnd(1, 2), ())
    assert outcome.row == row


def test_a_log_that_is_longer_departs_too() -> None:
    """Fetch (Q13): same epoch, and beyond the leader's end."""
    answer = only(step(leader_of(1, 1, log_of(1, 1)), fetch_request(2, 1, 1, 3, 1)))
    assert isinstance(answer, FetchResponse)
    assert answer.diverging == EpochEnd(1, 2)


def test_the_high_watermark_is_what_a_majority_has() -> None:
    """High watermark (Q14)."""
    row = leader_of(1, 1, log_of(1, 1, 1), FIVE, end_offsets=(-1, 2, 0, 0, 0))
    assert step(row, fetch_request(3, 1, 1, 1, 1), FIVE).row.high_watermark == 1
    assert step(row, fetch_request(3, 1, 1, 3, 1), FIVE).row.high_watermark == 2


@pytest.mark.parametrize(("offset", "expected"), [(1, UNDEFINED), (2, UNDEFINED), (3, 3)])
def test_the_high_watermark_first_covers_a_record_of_the_leaders_epoch(
    offset: int, expected: int
) -> None:
    """High watermark (Q14, KAFKA-12619): its LeaderChange included. Raft, figure 8."""
    row = leader_of(1, 4, log_of(1, 2, 4))
    m = fetch_request(2, 1, 4, offset, row.log[offset - 1].epoch)
    assert step(row, m).row.high_watermark == expected


def test_the_high_watermark_never_goes_back() -> None:
    """High watermark (Q14): a follower may ask for less than before (KAFKA-12181)."""
    row = leader_of(1, 1, log_of(1, 1, 1), high_watermark=3, end_offsets=(-1, 3, 0))
    outcome = step(row, fetch_request(2, 1, 1, 1, 1))
    assert (outcome.row.high_watermark, outcome.row.end_offsets) == (3, (-1, 1, 0))


def test_a_fetch_without_news_waits() -> None:
    """Fetch (Q12): until there are records on disk, its wait is over, or the leader resigns."""
    m = fetch_request(2, 1, 1, 1, 1)
    waiting = step(leader_of(1, 1, log_of(1)), m)
    assert (waiting.row.parked, waiting.sent) == ((m,), ())
    appended = step(waiting.row, Append(7))
    assert (appended.row.log[-1], appended.row.flushed) == (Entry(1, 7), 1)
    assert appended.row.parked == (m,)
    flushed = step(appended.row, Flush())
    answer = only(flushed)
    assert isinstance(answer, FetchResponse)
    assert (answer.records, answer.request, flushed.row.parked) == ((Entry(1, 7),), m, ())

    answer = only(step(waiting.row, FetchMaxWait(m)))
    assert isinstance(answer, FetchResponse)
    assert (answer.error, answer.records, answer.high_watermark) == ("NONE", (), 1)

    deposed = step(waiting.row, BeginQuorumEpochRequest(3, 1, 2))
    answers = [a for a in deposed.sent if isinstance(a, FetchResponse)]
    assert [a.error for a in answers] == ["NOT_LEADER_OR_FOLLOWER"]
    assert (answers[0].leader, answers[0].epoch) == (3, 2)


# --- Fetch: what the follower does


def following(log: tuple[Entry, ...], **more: object) -> Row:
    row = row_of("Follower", 4, leader=2, log=log, connections=("Ready", "Awaiting", "Ready"))
    return replace(row, **more)


def asked(row: Row) -> FetchRequest:
    return FetchRequest(1, 2, 4, len(row.log), row.log[-1].epoch if row.log else 0)


def test_a_follower_has_on_disk_what_its_next_fetch_confirms() -> None:
    """Fetch (Q16): append and flush are one step, and then it asks again."""
    row = following(log_of(1))
    outcome = step(row, fetch_response(asked(row), records=log_of(1, 1, 2)[1:]))
    assert (outcome.row.log, outcome.row.flushed) == (log_of(1, 1, 2), 3)
    assert outcome.row.epoch_cache == cache_of(log_of(1, 1, 2))
    assert only(outcome) == FetchRequest(1, 2, 4, fetch_offset=3, last_fetched_epoch=2)


@pytest.mark.parametrize(("told", "expected"), [(-1, 1), (2, 2), (3, 3), (9, 3)])
def test_a_follower_believes_its_leaders_high_watermark_up_to_its_own_end(
    told: int, expected: int
) -> None:
    """Fetch (Q16): -1 says that the leader has not committed in its epoch yet."""
    row = following(log_of(1), high_watermark=1)
    answer = fetch_response(asked(row), records=log_of(1, 1, 2)[1:], high_watermark=told)
    assert step(row, answer).row.high_watermark == expected


def test_a_follower_cuts_what_its_leader_does_not_have() -> None:
    """Fetch (Q16): one epoch in each round, until the logs agree."""
    leader = leader_of(2, 4, log_of(1, 1, 1, 3, 4))
    follower = following(log_of(1, 1, 2, 2, 2))
    rounds = []
    for _ in range(3):
        answer = only(step(leader, asked(follower), node=2))
        follower = step(follower, answer).row
        rounds.append(tuple(e.epoch for e in follower.log))
    assert rounds == [(1, 1), (1, 1, 1, 3), (1, 1, 1, 3, 4)]
    assert follower.epoch_cache == leader.epoch_cache


@pytest.mark.parametrize(
    ("own", "diverging", "expected"),
    [
        (log_of(1, 1, 3), EpochEnd(1, 1), 1),
        (log_of(1, 1, 3), EpochEnd(1, 5), 2),
        (log_of(1, 3, 3), EpochEnd(2, 2), 1),
        (log_of(3, 3), EpochEnd(1, 1), 0),
        (log_of(3, 3), EpochEnd(0, 1), 1),
    ],
)
def test_where_a_follower_cuts(own: tuple[Entry, ...], diverging: EpochEnd, expected: int) -> None:
    """Fetch (Q16): the smaller end where both know the epoch, else the end of the one below."""
    row = following(own)
    cut = step(row, fetch_response(asked(row), diverging=diverging)).row
    assert (cut.log, cut.flushed) == (own[:expected], expected)
    assert cut.epoch_cache == cache_of(own[:expected])


def test_a_follower_moves_to_the_leader_that_it_is_told_of() -> None:
    """Fetch (Q12, Q16)."""
    row = following(log_of(1))
    outcome = step(row, fetch_response(asked(row), error="FENCED_LEADER_EPOCH", epoch=5, leader=3))
    assert (outcome.row.role, outcome.row.epoch, outcome.row.leader) == ("Follower", 5, 3)
    assert only(outcome).destination == 3


def test_any_success_counts_as_having_fetched() -> None:
    """Fetch (Q16)."""
    row = following(log_of(1))
    assert step(row, fetch_response(asked(row))).row.has_fetched
    assert step(row, fetch_response(asked(row), diverging=EpochEnd(1, 0))).row.has_fetched
    refused = fetch_response(asked(row), error="NOT_LEADER_OR_FOLLOWER", leader=-1)
    assert not step(row, refused).row.has_fetched


def test_a_follower_that_hears_nothing_stands_for_election() -> None:
    """Fetch (1.2): by way of a pre-vote."""
    assert step(row_of("Follower", 1, leader=2), FetchTimeout()).row.role == "Prospective"


# --- Leader progress


def test_a_leader_without_fetches_of_a_majority_resigns() -> None:
    """Leader progress (Q15, KAFKA-15489)."""
    row = step(leader_of(1, 1, log_of(1)), CheckQuorumTimeout()).row
    assert row.role == "Resigned"


def test_a_sole_voter_waits_for_nobody() -> None:
    """Leader progress (Q15, KAFKA-16144)."""
    row = leader_of(1, 1, log_of(1), ONE)
    assert QuorumHandlers(ONE).step(1, row, CheckQuorumTimeout()) is None


def test_a_round_is_complete_when_a_majority_has_fetched_with_the_leader() -> None:
    """Leader progress (Q15): then the next round begins with nobody."""
    row = leader_of(1, 1, log_of(1), FIVE)
    once = step(row, fetch_request(4, 1, 1, 1, 1), FIVE).row
    assert once.fetched_voters == (4,)
    assert step(once, fetch_request(4, 1, 1, 1, 1), FIVE).row.fetched_voters == (4,)
    assert step(once, fetch_request(2, 1, 1, 1, 1), FIVE).row.fetched_voters == ()


# --- Quorum state: crash and restart


def down(epoch: int, leader: int, voted: int, log: tuple[Entry, ...] = ()) -> Row:
    return row_of("Down", epoch, leader, voted, log)


@pytest.mark.parametrize(
    ("row", "role", "epoch", "leader", "voted"),
    [
        (down(1, 2, 2, log_of(1, 3)), "Unattached", 3, NOBODY, NOBODY),
        (down(3, 1, 1, log_of(3)), "Resigned", 3, 1, 1),
        (down(3, NOBODY, 1, log_of(1)), "Candidate", 3, NOBODY, 1),
        (down(3, 2, 3, log_of(1)), "Follower", 3, 2, 3),
        (down(3, NOBODY, 2, log_of(1)), "Unattached", 3, NOBODY, 2),
        (down(0, NOBODY, NOBODY), "Unattached", 0, NOBODY, NOBODY),
    ],
)
def test_the_role_in_which_a_voter_starts(
    row: Row, role: str, epoch: int, leader: int, voted: int
) -> None:
    """Quorum state (Q3): the log's epoch, then own leadership, own vote, known leader, else."""
    started = step(row, Restart()).row
    assert (started.role, started.epoch, started.leader, started.voted) == (
        role,
        epoch,
        leader,
        voted,
    )
    assert started.high_watermark == UNDEFINED


def test_a_leader_that_restarts_never_leads_its_epoch_again() -> None:
    """Quorum state (Q3, KAFKA-10527): it might write other records at the offsets that it lost."""
    row = leader_of(1, 2, log_of(2, 2), flushed=1)
    restarted = step(step(row, Crash(1)).row, Restart())
    assert restarted.row.role == "Resigned"
    assert not vote_answer(restarted.row, vote_request(epoch=2, last_offset=9)).granted


def test_a_candidate_that_restarts_goes_on_asking() -> None:
    """Quorum state (Q3): in the epoch in which it has voted for itself."""
    outcome = step(down(3, NOBODY, 1, log_of(1)), Restart())
    assert [m.epoch for m in outcome.sent] == [3, 3]
    assert outcome.row.granted == (1,)


def test_a_sole_voter_leads_as_soon_as_it_starts() -> None:
    """Quorum state (Q3): Prospective, Candidate and Leader in one step."""
    row = step(replace(initial_row(ONE), role="Down"), Restart(), ONE).row
    assert (row.role, row.epoch, row.voted) == ("Leader", 1, 1)
    committed = step(row, Flush(), ONE).row
    assert (committed.high_watermark, committed.announced) == (1, 1)


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_crash_keeps_what_was_flushed_and_some_of_the_rest(keep: int) -> None:
    """Quorum state (P23): everything volatile is lost, and any part of the unflushed tail."""
    m = fetch_request(2, 1, 1, 1, 1)
    row = leader_of(1, 1, log_of(1, 1, 1), flushed=1, high_watermark=1, parked=(m,))
    row = replace(row, announced=1)
    crashed = step(row, Crash(keep))
    assert crashed.sent == ()
    assert (crashed.row.role, crashed.row.log) == ("Down", row.log[:keep])
    assert (crashed.row.flushed, crashed.row.high_watermark) == (keep, UNDEFINED)
    assert (crashed.row.parked, crashed.row.announced) == ((), UNDEFINED)
    assert crashed.row.quorum_state == row.quorum_state


def test_the_epoch_cache_of_lost_records_goes_when_the_voter_starts() -> None:
    """Quorum state (S6)."""
    row = leader_of(1, 2, log_of(1, 2), flushed=1)
    crashed = step(row, Crash(1)).row
    assert crashed.epoch_cache == (CacheEntry(1, 0), CacheEntry(2, 1))
    assert step(crashed, Restart()).row.epoch_cache == (CacheEntry(1, 0),)
