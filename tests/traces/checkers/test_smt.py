"""Constraints: what each encoding lets through and what it does not."""

from __future__ import annotations

import pytest
import z3

from kraftcheck.traces.checkers.models import model_named
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import Operation
from tests.traces.checkers import smt
from tests.traces.checkers.calls import call, numbered

LOG = "partition-log"
CASES = [
    ("register", HOLDS, [call("write", 0, 9, 1), call("read", 1, 2), call("read", 3, 4, result=1)]),
    ("register", VIOLATED, [call("write", 0, 1, 1), call("read", 2, 3)]),
    ("cas-register", HOLDS, [call("cas", 0, None, (None, 1)), call("read", 5, 6, result=1)]),
    ("cas-register", VIOLATED, [call("cas", 0, None, (2, 1)), call("read", 5, 6, result=1)]),
    (
        "kv",
        HOLDS,
        [call("append", 0, 9, "b"), call("put", 0, 9, "a"), call("get", 1, 8, result="ab")],
    ),
    (
        "kv",
        VIOLATED,
        [call("append", 0, 1, "b"), call("put", 2, 3, "a"), call("get", 4, 5, result="ab")],
    ),
    (LOG, HOLDS, [call("append", 0, None, 7), call("append", 1, 2, 8, 1)]),
    (LOG, VIOLATED, [call("append", 3, None, 7), call("append", 1, 2, 8, 1)]),
    (LOG, VIOLATED, [call("append", 0, 1, 7, 0), call("fetch", 2, 3, 0, ())]),
    (LOG, HOLDS, [call("append", 0, 1, 7, 0), call("fetch", 1, 3, 0, ())]),
    (LOG, VIOLATED, [call("append", 0, 1, 7, 0), call("append", 0, 1, 8, 0)]),
    (LOG, VIOLATED, [call("append", 0, 1, 7, 0), call("latest", 2, 3, result=0)]),
    (LOG, VIOLATED, [call("earliest", 0, 1, result=1), call("append", 2, 3, 7, 0)]),
]


@pytest.mark.parametrize(("model", "verdict", "calls"), CASES)
def test_verdicts(model: str, verdict: str, calls: list[Operation]) -> None:
    found = smt.check_object(numbered(*calls), model_named(model))
    assert found.verdict == verdict
    assert (found.witness is not None) == (verdict == HOLDS)


def test_nothing_of_one_history_stays_for_the_next() -> None:
    """The solver is kept; what was asserted for a history is not."""
    for model, verdict, calls in CASES * 2:
        assert smt.check_object(numbered(*calls), model_named(model)).verdict == verdict


def test_a_solver_that_gives_up_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    order = smt.order_of(1)
    monkeypatch.setattr(order.solver, "check", lambda: z3.unknown)
    monkeypatch.setattr(order.solver, "reason_unknown", lambda: "timeout")
    found = smt.check_object(numbered(call("write", 0, 1, 1)), model_named("register"))
    assert (found.verdict, found.reason) == (UNKNOWN, "the solver says: timeout")


def test_what_it_cannot_judge_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        smt.check_object((), model_named("register"))
    with pytest.raises(ValueError, match="no constraints for queue"):
        smt.check_object(numbered(call("enqueue", 0, 1, 1)), model_named("queue"))
