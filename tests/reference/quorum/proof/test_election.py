"""The proof goes through; with a bug in the rules it does not, and says in which state."""

from __future__ import annotations

import pytest

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.proofs.obligations import IMPLIES
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.proof import election
from kraftcheck.reference.quorum.proof.election import discharge, obligations
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants, Row

THREE = Constants((0, 1, 2), 1)


def test_every_handler_is_an_obligation() -> None:
    names = obligations()
    assert set(HANDLERS.values()) < set(names) and names[0] == "Init"
    assert len(names) == len(HANDLERS) + 3


QUICK = (
    *("Init", "HandleElectionTimeout", "HandleCrash", "HandleRestart", "HandleRequestTimeout"),
    *("HandleBeginQuorumEpochRequest", "HandleResign", "HandleCheckQuorumTimeout"),
    *(f"{IMPLIES}{name}" for name in election.PROPERTIES),
)


@pytest.mark.parametrize("name", QUICK)
def test_an_obligation_is_proved(name: str) -> None:
    """A sample; `make prove` discharges all, for 3 and 5 voters."""
    found = discharge(THREE, name)
    assert (found.status, found.broken, found.reason) == ("proved", "", "")
    assert found.paths or name not in HANDLERS.values()


def test_a_property_that_the_invariant_does_not_imply_fails() -> None:
    """Without its part LeaderWon, the invariant says nothing of two leaders."""
    full = election.row_parts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            election,
            "row_parts",
            lambda system, v: {k: t for k, t in full(system, v).items() if k != "LeaderWon"},
        )
        found = discharge(THREE, f"{IMPLIES}ElectionSafety")
    assert found.status == "failed" and len(found.state) == 3


@pytest.mark.parametrize(
    ("id", "action", "broken"),
    [
        ("Z01", "HandleElectionTimeout", "Filed of 0"),
        ("Z13", "HandleBeginQuorumEpochRequest", "Voted of 0"),
    ],
)
def test_a_bug_breaks_an_obligation_and_the_state_is_told(
    id: str, action: str, broken: str
) -> None:
    rules = bug(id).replacement
    assert rules is not None
    found = discharge(THREE, action, rules)
    assert (found.status, found.broken) == ("failed", broken)
    assert found.state[0].startswith("voter 0: ") and "handles" in " ".join(found.state)


class _Twice(QuorumRules):
    """A voter that has voted gives its vote again."""

    __slots__ = ()

    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        return row.role == "Unattached"


def test_a_grant_that_is_no_ballot_is_told() -> None:
    found = discharge(THREE, "HandleVoteRequest", _Twice)
    assert found.broken == "what message 0 (VoteResponse) says"


def test_a_solver_without_time_is_unknown_and_never_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discharge(THREE, "HandleElectionTimeout", timeout_ms=1)
    assert found.status in ("unknown", "proved")

    def nothing(*given: object) -> list[object]:
        return []

    monkeypatch.setattr(election, "cases", nothing)
    assert discharge(THREE, "HandleElectionTimeout").status == "unknown"


def test_the_invariant_is_no_contradiction() -> None:
    found = discharge(THREE, f"{IMPLIES}ElectionSafety")
    assert found.status == "proved"
