"""The fates of transactions as one object: what proves that one was committed, or aborted."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.traces.checkers.outcomes import TransactionOutcomes
from kraftcheck.traces.checkers.sequential import REFUSED
from kraftcheck.traces.history import Operation
from tests.traces.checkers.calls import call

COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


def operation(f: str, argument: int, *result: int, outcome: str = "ok") -> Operation:
    return call(f, 0, 1, argument, list(result) if result else None, outcome=outcome)


def after(*operations: tuple[Any, ...]) -> Any:
    model = TransactionOutcomes()
    state: Any = model.initial()
    for each in operations:
        if state is REFUSED:
            return REFUSED
        state = model.step(state, operation(*each))
    return state


COMPATIBLE = {
    "two transactions": [("commit", 1), ("abort", 2)],
    "a record of an aborted one, read uncommitted": [(UNCOMMITTED, 0, 0, 1), ("abort", 1)],
    "what nobody was shown": [(COMMITTED, 0, 0, 0), ("abort", 1)],
    "one place read twice": [(COMMITTED, 0, 0, 1), (COMMITTED, 0, 0, 1), ("commit", 1)],
    "passed over in another partition": [
        (UNCOMMITTED, 0, 0, 1),
        (COMMITTED, 0, 1, 0),
        ("commit", 1),
    ],
    "passed over at another place": [
        (UNCOMMITTED, 0, 0, 1),
        (COMMITTED, 1, 0, 0),
        ("commit", 1),
    ],
    "nothing uncommitted is no proof": [(UNCOMMITTED, 0, 0, 0), (COMMITTED, 0, 0, 1)],
}
CONTRADICTORY = {
    "committed and aborted": [("commit", 1), ("abort", 1)],
    "aborted and committed": [("abort", 1), ("commit", 1)],
    "shown as committed, and aborted": [(COMMITTED, 0, 0, 1), ("abort", 1)],
    "aborted, and shown as committed": [("abort", 1), (COMMITTED, 0, 0, 1)],
    "passed over, and committed": [
        (UNCOMMITTED, 0, 0, 1),
        (COMMITTED, 0, 0, 0),
        ("commit", 1),
    ],
    "passed over in one partition, shown in another": [
        (UNCOMMITTED, 0, 0, 1),
        (COMMITTED, 0, 1, 1),
        (COMMITTED, 0, 0, 0),
    ],
    "committed, and another one in between": [("commit", 1), ("commit", 2), ("abort", 1)],
    "aborted, and another one in between": [("abort", 1), ("abort", 2), ("commit", 1)],
    "passed over, and another place in between": [
        (COMMITTED, 0, 0, 0),
        (COMMITTED, 1, 0, 0),
        (UNCOMMITTED, 0, 0, 1),
        ("commit", 1),
    ],
    "two transactions at one place": [(UNCOMMITTED, 0, 0, 1), (UNCOMMITTED, 0, 0, 2)],
    "two transactions at one place, counted from one": [
        (UNCOMMITTED, 0, 0, 0, 1),
        (UNCOMMITTED, 1, 0, 2),
    ],
}


@pytest.mark.parametrize("name", COMPATIBLE)
def test_what_can_be_true_at_once(name: str) -> None:
    assert after(*COMPATIBLE[name]) is not REFUSED


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_what_cannot_be_true_at_once(name: str) -> None:
    assert after(*CONTRADICTORY[name]) is REFUSED
    # Nothing but the last operation makes it so.
    assert after(*CONTRADICTORY[name][:-1]) is not REFUSED


@pytest.mark.parametrize(("outcome", "judged"), [("ok", True), ("info", False), ("fail", False)])
def test_only_answers_prove_anything(outcome: str, judged: bool) -> None:
    found = operation("commit", 1, outcome=outcome)
    assert TransactionOutcomes().judges(found) is judged
