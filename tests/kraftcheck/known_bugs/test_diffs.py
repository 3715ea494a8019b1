"""What a bug replaces is shown beside what is correct, on both sides."""

from __future__ import annotations

import pytest

from kraftcheck.known_bugs.diffs import python_diffs, tla_diffs
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import CATALOG, bug

SEEN_BY_TLC = [each for each in CATALOG if "tlc" in each.detectors and each.replacement is not None]


@pytest.mark.parametrize("entry", SEEN_BY_TLC, ids=lambda entry: entry.id)
def test_both_sides_replace_as_much(entry: Bug) -> None:
    python, tla = python_diffs(entry), tla_diffs(entry)
    assert len(python) == len(tla) > 0
    for each in [*python, *tla]:
        changed = [line for line in each.lines[2:] if line[0] in "+-"]
        assert changed, f"{each.name} is replaced by itself"


def test_the_names_are_those_of_the_correct_side() -> None:
    (diff,) = tla_diffs(bug("Z06"))
    assert diff.lines[:2] == ["--- QuorumRules.tla", "+++ QuorumBugs.tla"]
    assert "+LogOk(row, m) == TRUE" in diff.lines and "-LogOk(row, m) ==" in diff.lines
    (diff,) = python_diffs(bug("Z06"))
    assert "+    return True" in diff.lines
    assert not any('"""' in line for line in diff.lines)


def test_what_replaces_nothing_has_no_diff() -> None:
    assert python_diffs(bug("Z53")) == tla_diffs(bug("Z53")) == []
    assert python_diffs(bug("Z21")) == tla_diffs(bug("Z21")) == []
