"""Refused moves are judged by the spec, and an accepting mutant is caught."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import Error, VoteRequest, VoteResponse
from kraftcheck.reference.quorum.mutants import mutants
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row
from kraftcheck.traces.cover import refusals
from kraftcheck.traces.cover.refusals import KINDS, attempts_of, refuse, sort_of
from kraftcheck.traces.cover.rulebook import Result
from tests.reference.quorum.builders import row_of
from tests.traces.cover.graphs import matched
from tests.traces.jobs.untrue import accept_all, judge_as_predecessor, plant_none
from tla_utils import ToolError

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]

LIVED = r"TLC accepted \d+ of \d+ canaries"


class _Accepts(QuorumRules):
    """The planted fault: a request of an older epoch is answered as if it were of this one."""

    __slots__ = ()

    def vote_request_error(self, row: Row, m: VoteRequest) -> Error:
        error = super().vote_request_error(row, m)
        return "NONE" if error == "FENCED_LEADER_EPOCH" else error


def test_the_spec_refuses_what_the_reference_refuses() -> None:
    found = refuse(matched("quorum-handover"), limit=2000)
    assert found.rejected == [] and found.unknown == 0
    assert found.attempts == sum(found.total(kind) for kind in KINDS)
    assert all(found.total(kind) for kind in KINDS)
    assert set(found.kinds) == set(HANDLERS.values()) - {"HandleFetchResponse"}
    assert {"FENCED_LEADER_EPOCH", "INVALID_REQUEST", "NOT_LEADER_OR_FOLLOWER"} <= set(found.errors)


def test_what_came_of_an_attempt_is_one_word() -> None:
    row, other = row_of("Follower", 1, leader=2), row_of("Unattached", 2)
    request = VoteRequest(0, 1, 1, 0, 0, pre_vote=True)
    granted = VoteResponse(1, 0, "NONE", 1, -1, granted=True, request=request)
    refused, error = replace(granted, granted=False), replace(granted, error="FENCED_LEADER_EPOCH")
    for result, word in (
        (None, "disabled"),
        (Result(row, (), "Stale"), "ignored"),
        (Result(row, (), ""), "accepted"),
        (Result(row, (granted, error), ""), "error"),
        (Result(row, (granted, refused), ""), "vote refused"),
        (Result(other, (refused,), ""), "accepted"),
        (Result(other, (granted,), ""), "accepted"),
    ):
        assert sort_of(row, result) == word


def test_an_accepting_mutant_is_caught() -> None:
    found = refuse(matched("quorum-few-votes", _Accepts), limit=500)
    assert found.rejected
    assert all("VoteRequest" in told for told in found.rejected)
    assert all(", sends VoteResponse(" in told for told in found.rejected)


def test_attempts_that_are_judged_as_their_predecessor(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = matched("quorum-few-votes")
    judge_as_predecessor(monkeypatch, 2, 1)
    with pytest.raises(ToolError, match=LIVED):
        refuse(matcher, limit=1)
    # The twin: nothing else sees it.
    plant_none(monkeypatch, refusals)
    assert refuse(matcher, limit=1).rejected == []


def test_a_judging_that_accepts_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    matcher = matched("quorum-few-votes", _Accepts)
    accept_all(monkeypatch)
    with pytest.raises(ToolError, match=LIVED):
        refuse(matcher, limit=500)
    plant_none(monkeypatch, refusals)
    assert refuse(matcher, limit=500).rejected == []


def test_a_judging_that_drops_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    accept_all(monkeypatch, dropped=1)
    with pytest.raises(ToolError, match=r"TLC gave \d+ verdicts on \d+ steps"):
        refuse(matched("quorum-few-votes"), limit=1)


def test_a_handler_that_finds_a_move_disabled_which_the_spec_allows_is_caught() -> None:
    matcher = matched("quorum-handover")
    outcomes = matcher.book.outcomes

    def deaf(node: int, row: Row, input: object) -> object:
        return [] if type(input).__name__ == "Resign" else outcomes(node, row, input)

    matcher.book.outcomes = deaf  # type: ignore[method-assign,assignment]
    found = refuse(matcher, limit=1)
    assert found.rejected and all("finds it disabled" in told for told in found.rejected)


def test_the_limit_thins_the_mutants_and_says_so() -> None:
    matcher = matched("quorum-handover")
    every, none = attempts_of(matcher, 10**6)
    some, skipped = attempts_of(matcher, 100)
    assert none == 0 and len(some) + skipped == len(every) and set(some) <= set(every)
    one, _ = attempts_of(matcher, 1)
    assert 1 < 1 + len(some) - len(one) <= 100 < 1 + len(every) - len(one)


def test_mutants_differ_in_one_field_and_stay_in_form() -> None:
    request = VoteRequest(0, 1, 1, 0, 0, pre_vote=True)
    response = VoteResponse(1, 0, "NONE", 1, -1, granted=True, request=request)
    for message in (request, response):
        changed = list(mutants(message, (0, 1, 2)))
        assert len(set(changed)) == len(changed) > 5
        for mutant in changed:
            fields = message.__struct_fields__
            assert sum(getattr(mutant, f) != getattr(message, f) for f in fields) == 1
            assert mutant.destination == message.destination != mutant.source
    assert all(m.epoch >= 0 for m in mutants(response, (0, 1)))
