"""Every rule of groups decides something: forced to a wrong value, a model says otherwise."""

from __future__ import annotations

import functools
import re

import pytest

from specs import SPECS
from tests.specs.cfgs import fingerprint, run
from tests.specs.forced import Forced

pytestmark = pytest.mark.tlc

ONE = "groups-one"
JOINING = "groups-joining"
TWO = "groups-two"
FENCED = '"FENCED_MEMBER_EPOCH"'

FORCED = (
    Forced("WaitsForWritten", "row", "FALSE", ONE),
    Forced("WaitingAfterMove", "waiting", "waiting", ONE),
    Forced("AcceptsPreviousEpoch", "member, m", "FALSE", TWO),
    Forced("MemberEpochError", "member, m", FENCED, ONE),
    Forced("BumpedEpoch", "epoch", "epoch", ONE),
    Forced("ChangesSubscription", "before, after", "FALSE", ONE),
    Forced("NeedsTarget", "group", "FALSE", ONE),
    Forced("IsTarget", "group, owner", "TRUE", JOINING),
    Forced("IsFree", "group, member, p", "FALSE", ONE),
    Forced("HeldAfter", "held, before, after", "held", ONE),
    Forced("HasRevoked", "partitions, m", "FALSE", JOINING),
    Forced("RevocationBlocks", "member, m, retargeted", "FALSE", JOINING),
    Forced("TellsAssignment", "m, before, after", "FALSE", ONE),
    Forced("Report", "row", "{}", JOINING),
    Forced("IsAwaited", "row, m", "FALSE", ONE),
    Forced("UnsentAfterFailure", "unsent", "unsent", TWO),
    Forced("OwnedAfterFence", "owned", "owned", ONE),
)

# Operators that are words and not decisions; and what only runs of the reference have: in the
# models a session may time out whenever a rebalance may.
_WORDS = {"JoinEpoch", "LeaveEpoch", "Unknown", "AllFields", "Holding", "IsRevocationLate"}
_OPERATOR = re.compile(r"^(\w+)(\([^)]*\))? ==", re.MULTILINE)


def answered(model: str, definitions: str = "", override: str = "") -> tuple[object, ...]:
    """What TLC says of a model with definitions added to it and an override among its constants."""
    cfg = (SPECS / "groups" / "models" / f"{model}.cfg").read_text("utf-8")
    return fingerprint(run("MCGroups", cfg, definitions, override))


baseline = functools.cache(answered)


def test_the_table_names_every_rule() -> None:
    text = (SPECS / "groups" / "GroupRules.tla").read_text("utf-8")
    rules = {match[1] for match in _OPERATOR.finditer(text)} - _WORDS
    assert sorted(rules) == sorted(each.rule for each in FORCED)


@pytest.mark.parametrize("forced", FORCED, ids=lambda each: each.rule)
def test_a_forced_rule_shows(forced: Forced) -> None:
    found = answered(
        forced.model,
        f"Forced_{forced.rule}({forced.parameters}) == {forced.value}",
        f"  {forced.rule} <- [GroupRules] Forced_{forced.rule}\n",
    )
    assert found != baseline(forced.model)


def test_a_rule_forced_to_itself_shows_nothing() -> None:
    """The canary: the comparison is exact, so that a change in it means something."""
    found = answered(
        JOINING,
        "Forced_BumpedEpoch(epoch) == 1 + epoch",
        "  BumpedEpoch <- [GroupRules] Forced_BumpedEpoch\n",
    )
    assert found == baseline(JOINING)
