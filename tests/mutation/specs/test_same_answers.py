"""Arguments about mutants are evaluated, and what makes a difference is told apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.known_bugs.entries import manifest_of
from tests.mutation.specs import mutants, same_answers
from tests.mutation.specs.mutants import Mutant
from tla_utils import RunOptions

MANIFEST = manifest_of()
ASKED = {
    each.id: each
    for each in mutants.mutants(MANIFEST, "PartitionRules")
    if each.operator in same_answers.QUESTIONS
}


def test_of_each_decision_that_is_asked_one_mutant_is_argued_away() -> None:
    argued = [each.operator for each in ASKED.values() if each.argument]
    assert sorted(argued) == sorted(same_answers.QUESTIONS)


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(
    "mutant",
    [each for each in ASKED.values() if each.argument],
    ids=lambda each: each.operator,
)
def test_a_mutant_that_is_argued_away_makes_no_difference(mutant: Mutant, tmp_path: Path) -> None:
    found = same_answers.compare(mutant, MANIFEST, tmp_path, RunOptions())
    assert found.verdict == "holds" and found.distinct is not None and found.distinct > 10_000


@pytest.mark.tlc
def test_a_mutant_that_makes_a_difference_is_told_apart(tmp_path: Path) -> None:
    # Who is caught up, and behind, is not waited for any more.
    mutant = ASKED["PartitionRules.IsWaitedFor.2"]
    found = same_answers.compare(mutant, MANIFEST, tmp_path, RunOptions())
    assert (found.verdict, found.property) == ("violated", "Same")
