"""How runs go with a change and without it, where no property says that it is worse."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.known_bugs.own_measures import measured
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.known_bugs.witnesses import Hunt
from kraftcheck.reference.runner.scenarios import FAMILIES

ALWAYS = """
from kraftcheck.reference.quorum.rules import QuorumRules


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
    assert found and all(each.correct == each.changed for each in found)


FENCES = """
from kraftcheck.reference.groups.rules import GroupRules


class Fences(GroupRules):
    __slots__ = ()

    def accepts_previous_epoch(self, member, m):
        return False
"""


def test_a_group_that_takes_no_previous_epoch_fences_more(tmp_path: Path) -> None:
    """What it costs is told by the errors that members are answered; leaders have no part in it."""
    path = tmp_path / "fences.py"
    path.write_text(FENCES)
    with known(read_rules(path)) as entry:
        found = measured(Hunt(scenario="groups", bug=entry.id), 20)
    told = {each.name: each for each in found}
    assert told["answers FENCED_MEMBER_EPOCH"].changed > told["answers FENCED_MEMBER_EPOCH"].correct
    assert "changes of leader" not in told
