"""How runs go with a change and without it, where no property says that it is worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.known_bugs.own_measures import measured
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.known_bugs.runs import Hunt
from reference.runner.scenarios import FAMILIES

ALWAYS = """
from reference.quorum.rules import QuorumRules


class Always(QuorumRules):
    __slots__ = ()

    def pre_vote_granted(self, row, m):
        return True
"""


def test_a_pre_vote_that_is_always_granted_costs_leaders(tmp_path: Path) -> None:
    path = tmp_path / "always.py"
    path.write_text(ALWAYS)
    with known(read_rules(path)) as entry:
        found = measured(Hunt(scenario="quorum", bug=entry.id), 20)
    told = {each.name: each for each in found}
    assert told["seconds without a leader"].changed > told["seconds without a leader"].correct
    assert told["changes of leader"].changed > told["changes of leader"].correct


@pytest.mark.parametrize("scenario", FAMILIES)
def test_what_changes_nothing_measures_the_same(scenario: str) -> None:
    found = measured(Hunt(scenario=scenario, bug=None), 1)
    assert len(found) == 5 and all(each.correct == each.changed for each in found)
