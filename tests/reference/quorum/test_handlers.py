"""The handlers as a whole: what every step keeps to, and the table that finds them.

What the protocol says of single handlers is in test_kip_595.py and test_kip_996.py.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handler_name
from kraftcheck.reference.quorum.handlers import HANDLERS, QuorumHandlers, action_of
from kraftcheck.reference.quorum.messages import (
    INPUTS,
    MESSAGES,
    Append,
    BeginQuorumEpochRequest,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    Input,
    RequestTimeout,
    Resign,
    Restart,
    VoteResponse,
    canonical,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Role, Row, is_running
from tests.reference.quorum.builders import (
    ONE,
    THREE,
    anything,
    fetch_request,
    fetch_response,
    handlers,
    leader_of,
    log_of,
    only,
    row_of,
    taken,
    vote_request,
)
from tests.reference.quorum.walks import walk

sizes = st.integers(1, 5).map(lambda n: Constants(tuple(range(1, n + 1)), 2))


def check_canonical(constants: Constants, row: Row) -> None:
    """Sets are sorted tuples, functions on voters have one value for each."""
    for nodes in (row.granted, row.rejected, row.fetched_voters, row.unacked):
        assert list(nodes) == sorted(set(nodes))
    assert len(row.end_offsets) == len(row.connections) == len(constants.voters)
    assert canonical(row.parked) == row.parked


@given(sizes, st.integers(0, 2**32))
def test_every_step_of_a_walk_is_in_order(constants: Constants, seed: int) -> None:
    for step in walk(QuorumHandlers(constants), seed, 60):
        check_canonical(constants, step.outcome.row)
        assert canonical(step.outcome.sent) == step.outcome.sent
        assert all(m.source == step.node for m in step.outcome.sent)
        assert all(m.destination in constants.voters for m in step.outcome.sent)
        if step.outcome.ignored:
            assert step.outcome.row == step.before[step.node]
            assert step.outcome.sent == ()


@given(st.integers(0, 2**32))
def test_the_same_step_has_the_same_outcome(seed: int) -> None:
    one, other = handlers(), handlers()
    for step in walk(one, seed, 60):
        assert other.step(step.node, step.before[step.node], step.input) == step.outcome


@given(sizes, st.integers(0, 2**32), st.sampled_from(INPUTS), st.data())
def test_no_input_makes_a_handler_raise(
    constants: Constants, seed: int, of: type, data: st.DataObject
) -> None:
    """Nonsense from a peer is answered or ignored: a handler raises nothing (style: two families).

    Voters are named by their ids; the network delivers nothing to or from anybody else.
    """
    *_, last = walk(QuorumHandlers(constants), seed, 30)
    rows = last.after
    node = data.draw(st.sampled_from(constants.voters))
    input = data.draw(anything(of))
    voter = st.sampled_from(constants.voters)
    if isinstance(input, MESSAGES):
        input = replace(input, source=data.draw(voter), destination=node)
    if hasattr(input, "leader"):
        input = replace(input, leader=data.draw(st.one_of(st.just(-1), voter)))
    if isinstance(input, RequestTimeout):
        input = RequestTimeout(data.draw(voter))
    outcome = QuorumHandlers(constants).step(node, rows[node], input)
    if outcome is not None:
        check_canonical(constants, outcome.row)


def test_walks_reach_every_action_and_every_role() -> None:
    """The tests above say little about what a walk never does."""
    actions: Counter[str] = Counter()
    roles: Counter[Role] = Counter()
    reasons: Counter[str] = Counter()
    for seed in range(30):
        for step in walk(handlers(), seed, 200):
            actions[action_of(step.input)] += 1
            roles[step.outcome.row.role] += 1
            reasons[step.outcome.ignored] += 1
    assert set(actions) == set(HANDLERS.values())
    assert set(roles) >= {"Unattached", "Prospective", "Candidate", "Leader", "Resigned"}
    assert set(roles) >= {"Follower", "Down"}
    assert set(reasons) == {"", "NotAwaited", "NotLeader"}


def test_the_table_names_a_handler_for_every_input() -> None:
    assert set(HANDLERS) == set(INPUTS)
    for action in HANDLERS.values():
        assert callable(getattr(QuorumHandlers, handler_name(action)))
    assert handler_name("HandleFetchMaxWait") == "handle_fetch_max_wait"
    assert action_of(Flush()) == "HandleFlush"


def test_a_message_for_somebody_else_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="somebody else"):
        handlers().step(3, row_of(), vote_request(destination=1))


def test_rules_of_another_quorum_are_our_mistake() -> None:
    with pytest.raises(AssertionError, match="another quorum"):
        QuorumHandlers(THREE, QuorumRules(ONE))


FOLLOWER = row_of("Follower", 1, leader=2, voted=2, log=log_of(1))
LEADER = leader_of(1, 1, log_of(1, 1), end_offsets=(-1, 1, 2))
DOWN = row_of("Down", 1, log=log_of(1))
UNATTACHED = row_of("Unattached", 1)


@pytest.mark.parametrize(
    ("row", "input"),
    [
        (DOWN, vote_request()),
        (DOWN, ElectionTimeout()),
        (DOWN, Crash(1)),
        (DOWN, RequestTimeout(2)),
        (row_of("Halted", 1), vote_request()),
        (row_of("Halted", 1), Crash(0)),
        (FOLLOWER, ElectionTimeout()),
        (FOLLOWER, Restart()),
        (FOLLOWER, BeginQuorumEpochTimeout()),
        (FOLLOWER, CheckQuorumTimeout()),
        (FOLLOWER, Resign()),
        (FOLLOWER, Flush()),
        (FOLLOWER, RequestTimeout(2)),
        (FOLLOWER, Crash(0)),
        (FOLLOWER, Crash(2)),
        (LEADER, FetchTimeout()),
        (LEADER, ElectionTimeout()),
        (LEADER, FetchMaxWait(fetch_request())),
        (UNATTACHED, FetchTimeout()),
    ],
)
def test_a_disabled_input_has_no_outcome(row: Row, input: Input) -> None:
    assert handlers().step(1, row, input) is None


def test_only_a_leader_appends() -> None:
    ignored = taken(handlers().step(1, FOLLOWER, Append(7)))
    assert (ignored.row, ignored.sent, ignored.ignored) == (FOLLOWER, (), "NotLeader")


def test_a_response_that_nobody_awaits_is_ignored() -> None:
    late = fetch_response(fetch_request(1, 2, fetch_offset=1, last_fetched_epoch=1))
    assert taken(handlers().step(1, FOLLOWER, late)).ignored == "NotAwaited"
    asked = replace(FOLLOWER, connections=("Ready", "Awaiting", "Ready"))
    older = fetch_response(fetch_request(1, 2, fetch_offset=0, last_fetched_epoch=0))
    assert taken(handlers().step(1, asked, older)).ignored == "NotAwaited"
    assert not taken(handlers().step(1, asked, late)).ignored


def test_one_request_is_in_flight_to_each_peer() -> None:
    """Q22. What is owed is sent as far as connections are ready, and not again before an answer."""
    prospective = taken(handlers().step(1, UNATTACHED, ElectionTimeout()))
    assert [m.destination for m in prospective.sent] == [2, 3]
    assert prospective.row.connections == ("Ready", "Awaiting", "Awaiting")
    again = taken(handlers().step(1, prospective.row, RequestTimeout(2)))
    assert again.sent == prospective.sent[:1]
    assert again.row == prospective.row


def test_a_response_of_an_older_epoch_backs_off() -> None:
    asked = replace(FOLLOWER, connections=("Ready", "Awaiting", "Ready"))
    request = fetch_request(1, 2, fetch_offset=1, last_fetched_epoch=1)
    stale = fetch_response(request, error="UNKNOWN_LEADER_EPOCH", epoch=0, leader=-1)
    outcome = taken(handlers().step(1, asked, stale))
    assert outcome.row.connections == ("Ready", "BackingOff", "Ready")
    assert outcome.sent == ()
    retry = taken(handlers().step(1, outcome.row, RequestTimeout(2)))
    assert only(retry) == request


def test_a_fetch_that_is_parked_twice_is_parked_once() -> None:
    row = leader_of(1, 1, log_of(1))
    m = fetch_request(fetch_offset=1, last_fetched_epoch=1)
    once = taken(handlers().step(1, row, m))
    assert once.row.parked == (m,)
    assert taken(handlers().step(1, once.row, m)).row.parked == (m,)


def test_ties_among_successors_stand_in_voter_order() -> None:
    row = leader_of(1, 1, log_of(1), end_offsets=(-1, 1, 1))
    assert taken(handlers().step(1, row, Resign())).row.successors == (2, 3)
    every = [each.row.successors for each in handlers().outcomes(1, row, Resign())]
    assert every == [(2, 3), (3, 2)]
    row = leader_of(1, 1, log_of(1), end_offsets=(-1, 0, 1))
    assert taken(handlers().step(1, row, Resign())).row.successors == (3, 2)


def test_an_invalid_request_stops_the_asker() -> None:
    asker = row_of("Candidate", 2, voted=1, granted=(1,))
    asker = replace(asker, connections=("Ready", "Awaiting", "Ready"))
    request = vote_request(1, 2, epoch=2, last_epoch=0, last_offset=0)
    answer = VoteResponse(2, 1, "INVALID_REQUEST", 2, -1, granted=False, request=request)
    outcome = taken(handlers().step(1, asker, answer))
    assert outcome.row.role == "Halted"
    assert not is_running(outcome.row)


def test_two_leaders_of_one_epoch_stop_whoever_sees_both() -> None:
    outcome = taken(handlers().step(1, FOLLOWER, BeginQuorumEpochRequest(3, 1, 1)))
    assert (outcome.row.role, outcome.sent) == ("Halted", ())
