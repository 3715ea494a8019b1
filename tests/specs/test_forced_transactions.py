"""Every rule of transactions decides something: forced to a wrong value, a model says otherwise."""

from __future__ import annotations

import functools
import re

import pytest

from specs import SPECS
from tests.specs.cfgs import fingerprint, run
from tests.specs.forced import Forced

pytestmark = pytest.mark.tlc

ONE = "transactions-one"
LATE = "transactions-v1-late-batch"
LEADERLESS = "transactions-leaderless"
INSTANCES = "transactions-instances"
FENCED = '"PRODUCER_FENCED"'

FORCED = (
    Forced("EpochPerTransaction", "", "FALSE", LEADERLESS),
    Forced("ActsOnCommittedOnly", "", "FALSE", ONE),
    Forced("InitialisedEpoch", "epoch", "epoch", INSTANCES),
    Forced("FencedEpoch", "epoch", "epoch", ONE),
    Forced("EndedEpoch", "epoch", "epoch", ONE),
    Forced("InitProducerIdAnswer", "row", '"CONCURRENT_TRANSACTIONS"', INSTANCES),
    Forced("AddPartitionsAnswer", "row, m", FENCED, ONE),
    Forced("VerifyAnswer", "row, m", '"TRANSACTION_ABORTABLE"', LATE),
    Forced("AnswersWhenDeposed", "", "TRUE", ONE),
    Forced("IsEndPending", "row", "FALSE", ONE),
    Forced("EndTxnAnswerV1", "row, m", FENCED, LATE),
    Forced("EndTxnAnswerV2", "row, m", FENCED, ONE),
    Forced("EndTxnAnswer", "row, m", FENCED, ONE),
    Forced("MarkerDestination", "hasLeader", '"Later"', LEADERLESS),
    Forced("IsMarkerReplyCurrent", "row, m", "FALSE", ONE),
    Forced("IsDuplicateBatch", "producer, m", "TRUE", ONE),
    Forced("IsOngoing", "producer, epoch", "TRUE", ONE),
    Forced("NeedsVerification", "producer, epoch", "FALSE", ONE),
    Forced("BatchError", "producer, m, guarded", '"INVALID_TXN_STATE"', ONE),
    Forced("MarkerEpochOk", "producer, m", "FALSE", ONE),
    Forced("MarkerRepeatOk", "producer, m", "FALSE", ONE),
    Forced("IsCoordinatorFenced", "producer, m", "FALSE", ONE),
    Forced("MarkerError", "producer, m", '"INVALID_PRODUCER_EPOCH"', ONE),
    Forced("MarkerClearsGuard", "guard, m", "FALSE", LATE),
)

# Operators that are words and not decisions.
_WORDS = {"Unknown", "Preparing", "Completed", "Prepared", "CompletedAs", "DecisionOf"}
_OPERATOR = re.compile(r"^(\w+)(\([^)]*\))? ==", re.MULTILINE)


def answered(model: str, definitions: str = "", override: str = "") -> tuple[object, ...]:
    """What TLC says of a model with definitions added to it and an override among its constants."""
    cfg = (SPECS / "transactions" / "models" / f"{model}.cfg").read_text("utf-8")
    return fingerprint(run("MCTransactions", cfg, definitions, override))


baseline = functools.cache(answered)


def test_the_table_names_every_rule() -> None:
    text = (SPECS / "transactions" / "TransactionRules.tla").read_text("utf-8")
    rules = {match[1] for match in _OPERATOR.finditer(text)} - _WORDS
    assert sorted(rules) == sorted(each.rule for each in FORCED)


@pytest.mark.parametrize("forced", FORCED, ids=lambda each: each.rule)
def test_a_forced_rule_shows(forced: Forced) -> None:
    parameters = f"({forced.parameters})" if forced.parameters else ""
    found = answered(
        forced.model,
        f"Forced_{forced.rule}{parameters} == {forced.value}",
        f"  {forced.rule} <- [TransactionRules] Forced_{forced.rule}\n",
    )
    assert found != baseline(forced.model)


def test_a_rule_forced_to_itself_shows_nothing() -> None:
    """The canary: the comparison is exact, so that a change in it means something."""
    found = answered(
        ONE,
        "Forced_FencedEpoch(epoch) == 1 + epoch",
        "  FencedEpoch <- [TransactionRules] Forced_FencedEpoch\n",
    )
    assert found == baseline(ONE)
