"""Searches for a schedule under which the quorum breaks a promise; and shows that it finds one.

The first test is the search; how hard it searches is up to the profile (`make chaos` for long). The
others hold the searcher to account, always with the same examples: with the rules of a known bug it
must find a violation within a fixed budget, and with the correct rules it must find none.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from reference.bugs.catalog import bug
from reference.core.rules import QuorumRules
from reference.core.types import Row
from tests.stateful.machine import QuorumMachine
from tests.stateful.schedule import NoProgress, Violation

# The steps of one example take long where many messages wait. And Hypothesis switches rules off for
# a whole run: where nothing else is possible the run ends early, which costs little.
LENIENT = [HealthCheck.too_slow, HealthCheck.filter_too_much]

TestQuorum = QuorumMachine.TestCase
TestQuorum.settings = settings(suppress_health_check=LENIENT)

# Not of the profile: a budget is part of what these tests claim. Between two versions of Hypothesis
# the examples may change; then look whether the search got worse before raising it.
BUDGET = settings(
    max_examples=150,
    stateful_step_count=60,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=LENIENT,
    print_blob=False,
)


def search(rules: type[QuorumRules], budget: settings = BUDGET) -> None:
    machine = type("QuorumMachine", (QuorumMachine,), {"decisions": rules})
    run_state_machine_as_test(machine, settings=budget)


def buggy(id: str) -> type[QuorumRules]:
    replacement = bug(id).replacement
    assert replacement is not None
    return replacement


def test_nothing_is_found_with_the_correct_rules() -> None:
    search(QuorumRules)


@pytest.mark.parametrize("id", ["Z01", "Z02", "Z03", "Z07", "Z13", "Z15", "Z16", "Z20"])
def test_a_known_bug_is_found_within_the_budget(id: str) -> None:
    with pytest.raises(Violation) as found:
        search(buggy(id))
    print(found.value.name)


def test_what_is_found_shrinks_to_a_script() -> None:
    """A forgotten vote (Z13) takes two candidates and one voter; little else should be left."""
    budget = settings(BUDGET, phases=[Phase.generate, Phase.shrink])
    with pytest.raises(Violation) as found:
        search(buggy("Z13"), budget)
    words = str(found.value).splitlines()
    print("\n".join(words), "\n".join(found.value.__notes__))
    assert words[0] == "VoteOnce is violated: A voter gives at most one standard vote in an epoch."


# --- Progress has its negative twins as well


class NobodyWins(QuorumRules):
    def election_won(self, granted: tuple[int, ...]) -> bool:
        return False


class NothingCommits(QuorumRules):
    def covers_own_epoch(self, row: Row, offset: int) -> bool:
        return False


class FollowersLearnNothing(QuorumRules):
    def follower_high_watermark(self, row: Row, offset: int) -> int:
        return row.high_watermark


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (NobodyWins, "nobody leads the latest epoch"),
        (NothingCommits, "does not commit a new record"),
        (FollowersLearnNothing, "the logs do not become equal"),
    ],
)
def test_a_quorum_that_gets_nowhere_is_told_so(rules: type[QuorumRules], reason: str) -> None:
    with pytest.raises(NoProgress) as found:
        search(rules)
    assert reason in found.value.reason
