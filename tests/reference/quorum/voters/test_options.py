"""What voters ask by themselves, and the upgrade of kraft.version: options of their scenario."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.chaos import chaos
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.protocols import ProtocolError
from kraftcheck.reference.quorum.messages import NO_DIVERGENCE, FetchRequest, RequestTimeout
from kraftcheck.reference.quorum.types import AWAITING
from kraftcheck.reference.quorum.voters.handlers import VoterHandlers
from kraftcheck.reference.quorum.voters.messages import (
    OF_OPTIONS,
    AddVoter,
    AddVoterRequest,
    AddVoterResponse,
    AutoJoinTimeout,
    FetchResponse,
    UpdateVoterRequest,
    UpdateVoterResponse,
    UpdateVoterTimeout,
    UpgradeKraftVersion,
)
from kraftcheck.reference.quorum.voters.types import Heard, VoterRow
from kraftcheck.reference.runner.run import simulate_run
from tests.reference.quorum.voters.plants import LOG, OPENED, THREE, following, leading, voters

OPTIONS: dict[str, dict[str, Any]] = {
    "kraft_version": {"kraft_version": 0},
    "auto_join": {"auto_join": True},
    "listeners_change": {"listeners_change": True},
}
ALL = {name: value for option in OPTIONS.values() for name, value in option.items()}
HANDLERS = VoterHandlers(THREE)
AT_FIRST = VoterHandlers(replace(THREE, kraft_version=0))

test_chaos = chaos("voters", options={**ALL, "moves": 60})


def stepped(handlers: VoterHandlers, node: int, row: VoterRow, input: Any) -> Outcome:
    outcome = handlers.step(node, row, input)
    assert outcome is not None
    return outcome


def test_each_of_their_actions_is_taken_and_nothing_is_violated() -> None:
    taken = set()
    for number in range(12):
        run = simulate_run("voters", 5, number, None, ALL)
        assert not run.result.violations
        taken |= {type(step.input) for step in run.steps}
    assert {*OF_OPTIONS} <= taken


@pytest.mark.parametrize("option", OPTIONS)
def test_without_an_option_none_of_its_actions_is_taken(option: str) -> None:
    others = {name: value for name, value in ALL.items() if name != option}
    own: dict[str, set[type]] = {
        "kraft_version": {UpgradeKraftVersion},
        "auto_join": {AutoJoinTimeout, AddVoterRequest},
        "listeners_change": set(),
    }
    run = simulate_run("voters", 5, 1, None, others)
    assert not {type(step.input) for step in run.steps} & own[option]


def test_who_is_no_voter_asks_to_be_one_in_place_of_records() -> None:
    alone = following((OPENED,), connections=(AWAITING, *following().connections[1:]))
    asking = stepped(HANDLERS, 3, alone, AutoJoinTimeout())
    [request] = asking.sent
    assert request == AddVoterRequest(3, 1, 3, False) and asking.row.asks == "AddVoter"
    late = FetchRequest(3, 1, 1, 1, 1)
    stale = FetchResponse(1, 3, "NONE", 1, 1, (), NO_DIVERGENCE, 1, late)
    assert stepped(HANDLERS, 3, asking.row, stale).ignored == "NotAwaited"
    leader = replace(leading((OPENED,), 1), caught_up=(3,))
    answered = stepped(HANDLERS, 1, leader, request)
    assert answered.row.history[-1].voters == (1, 2, 3)
    [answer] = [m for m in answered.sent if isinstance(m, AddVoterResponse)]
    heard = stepped(HANDLERS, 3, asking.row, answer)
    assert heard.row.asks == "" and FetchRequest(3, 1, 1, 1, 1) in heard.sent
    given_up = stepped(HANDLERS, 3, asking.row, RequestTimeout(1))
    assert given_up.row.asks == "" and FetchRequest(3, 1, 1, 1, 1) in given_up.sent
    assert stepped(HANDLERS, 3, given_up.row, answer).ignored == "NotAwaited"


def test_who_was_removed_does_not_ask() -> None:
    assert HANDLERS.step(2, following((*LOG, voters(1, 3))), AutoJoinTimeout()) is None


def test_kraft_version_is_upgraded_when_all_were_heard() -> None:
    leader = leading((OPENED,), 1)
    refused = stepped(AT_FIRST, 1, leader, UpgradeKraftVersion())
    assert refused.ignored == "INVALID_UPDATE_VERSION"
    assert stepped(AT_FIRST, 1, leader, AddVoter(3)).ignored == "UNSUPPORTED_VERSION"
    asking = stepped(AT_FIRST, 2, following((OPENED,)), UpdateVoterTimeout())
    told = stepped(AT_FIRST, 1, leader, asking.sent[0])
    assert told.row.heard == (Heard(2, False),)
    [answer] = [m for m in told.sent if isinstance(m, UpdateVoterResponse)]
    assert stepped(AT_FIRST, 2, asking.row, answer).row.has_updated_leader
    upgraded = stepped(AT_FIRST, 1, told.row, UpgradeKraftVersion()).row
    assert upgraded.history[-1].voters == (1, 2)
    again = stepped(AT_FIRST, 1, upgraded, UpgradeKraftVersion())
    assert again.ignored == "INVALID_UPDATE_VERSION"


@pytest.mark.parametrize(
    ("node", "epoch", "error"),
    [
        (2, 1, "NONE"),
        (2, 0, "FENCED_LEADER_EPOCH"),
        (2, 2, "UNKNOWN_LEADER_EPOCH"),
        (3, 1, "VOTER_NOT_FOUND"),
    ],
)
def test_an_update_is_answered_at_once(node: int, epoch: int, error: str) -> None:
    done = stepped(HANDLERS, 1, leading((OPENED,), 1), UpdateVoterRequest(node, 1, epoch, True))
    [answer] = [m for m in done.sent if isinstance(m, UpdateVoterResponse)]
    assert answer.error == error and done.row.change == -1
    assert (done.row.log[-1].moved == (2,)) == (error == "NONE")


def test_a_version_that_there_is_not_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"options refused: kraft\.version is 0 or 1"):
        simulate_run("voters", 1, 0, None, {"kraft_version": 2})
