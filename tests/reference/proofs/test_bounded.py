"""Reachable counterexamples: found, confirmed on the handlers, and not invented."""

from __future__ import annotations

from reference.bugs.z01_vote_not_persisted import Z01VoteNotPersisted
from reference.core.messages import ElectionTimeout, VoteRequest
from reference.core.rules import QuorumRules
from reference.core.types import Constants, initial_row
from reference.proofs.bounded import broken, find, flat_message, flat_row

TWO = Constants((0, 1), 1)


class _Alone(QuorumRules):
    """The planted fault: whoever stands is elected, so two may lead one epoch after two steps."""

    __slots__ = ()

    def election_won(self, granted: tuple[int, ...]) -> bool:
        return True


KINDS = (ElectionTimeout,)


def test_a_planted_fault_has_a_shortest_counterexample_that_the_handlers_confirm() -> None:
    found = find(TWO, _Alone, "ElectionSafety", bound=4, kinds=KINDS, timeout_s=120)
    assert found.confirmed and not found.reason
    assert [step.split(" ")[1] for step in found.steps] in (["0:", "1:"], ["1:", "0:"])
    once = find(TWO, _Alone, "ElectionSafety", bound=1, kinds=KINDS, timeout_s=120)
    assert once.steps == [] and once.reason == ""


def test_the_correct_rules_have_none_within_the_bound() -> None:
    found = find(TWO, QuorumRules, "VoteOnce", bound=3, kinds=KINDS, timeout_s=120)
    assert found.steps == [] and not found.confirmed and not found.reason


def test_a_search_without_time_says_so_and_finds_nothing() -> None:
    found = find(TWO, _Alone, "VoteOnce", bound=6, kinds=KINDS, timeout_s=0.0)
    assert "time limit" in found.reason and not found.confirmed


def test_a_bug_of_the_zoo_is_found_in_the_length_that_tlc_finds() -> None:
    """`kraftcheck prove --bug Z01 --property VoteOnce --search 9` looks for shorter ones first."""
    found = find(TWO, Z01VoteNotPersisted, "VoteOnce", bound=9, least=9, timeout_s=300)
    assert found.confirmed and found.length == len(found.steps) == 9


def test_a_run_of_rows_is_judged_by_its_last_state() -> None:
    row = initial_row(TWO)
    assert not broken("VoteOnce", [{0: row, 1: row}, {0: row, 1: row}])
    assert flat_row(row, TWO.voters).keys() >= {"role", "granted.1", "connection.0"}
    assert set(flat_message(VoteRequest(0, 1, 3, 0, 0, pre_vote=False))) == {
        *("epoch", "last_epoch", "last_offset", "pre_vote")
    }
