"""Every rule decides something: forced to a wrong value, a model gives another answer."""

from __future__ import annotations

import functools
import re

import pytest

from specs import SPECS
from tests.specs.cfgs import check, fingerprint
from tests.specs.forced import FORCED, STEPS_ONLY, Forced

pytestmark = pytest.mark.tlc

# Operators of QuorumRules that are definitions shared by rules and not decisions themselves: none.
_OPERATOR = re.compile(r"^(\w+)(\([^)]*\))? ==", re.MULTILINE)


@functools.cache
def baseline(model: str) -> tuple[object, ...]:
    return fingerprint(check(model))


def test_the_table_names_every_rule() -> None:
    text = (SPECS / "quorum" / "QuorumRules.tla").read_text("utf-8")
    rules = {match[1] for match in _OPERATOR.finditer(text)}
    assert {each.rule for each in FORCED} | {rule for rule, _, _ in STEPS_ONLY} == rules
    assert len(rules) == len(FORCED) + len(STEPS_ONLY)


@pytest.mark.parametrize("forced", FORCED, ids=lambda each: each.rule)
def test_a_forced_rule_shows(forced: Forced) -> None:
    parameters = f"({forced.parameters})" if forced.parameters else ""
    found = check(
        forced.model,
        f"Forced_{forced.rule}{parameters} == {forced.value}",
        f"  {forced.rule} <- [QuorumRules] Forced_{forced.rule}\n",
    )
    assert fingerprint(found) != baseline(forced.model)


def test_a_rule_forced_to_itself_shows_nothing() -> None:
    """The canary: the comparison is exact, so that a change in it means something."""
    found = check(
        "forced-reduced",
        "Forced_EpochAfterResigned(epoch) == 1 + epoch",
        "  EpochAfterResigned <- [QuorumRules] Forced_EpochAfterResigned\n",
    )
    assert fingerprint(found) == baseline("forced-reduced")
