"""What each checker says of one small history, and whether they say the same.

A checker that cannot decide a history says `unknown`, and agrees with all; how often is counted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final

from kraftcheck.traces.checkers import search
from kraftcheck.traces.checkers.models import CasRegister, model_named
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Verdict
from kraftcheck.traces.history import History
from tests.traces.checkers import smt
from tests.traces.checkers.enumerate import linearization

ENUMERATED_MAX: Final = 5
"""Up to so many operations, every order is tried as well."""


def opinions(history: History) -> dict[str, Verdict]:
    """By the checker's name. The history has one object, and names its model."""
    assert history.model is not None
    model = model_named(history.model)
    if isinstance(model, CasRegister):
        model = CasRegister(compared=True)
    found = {
        "search": search.check(history, model)[0],
        "smt": smt.check_object(history.operations, model),
    }
    if sum(map(model.judges, history.operations)) <= ENUMERATED_MAX:
        found["enumerate"] = _enumerated(history, model)
    columnar = columnar_checker()
    if columnar is not None and history.model == "partition-log":
        found["columnar"] = columnar(history)
    return found


def differ(found: dict[str, Verdict]) -> bool:
    """Whether one says `holds` and another `violated`."""
    return len({each.verdict for each in found.values()} - {UNKNOWN}) > 1


def _enumerated(history: History, model: Model) -> Verdict:
    order = linearization(history.operations, model)
    if order is None:
        return Verdict(verdict=VIOLATED, model=model.name)
    return Verdict(verdict=HOLDS, model=model.name, witness=tuple(each.index for each in order))


def columnar_checker() -> Callable[[History], Verdict] | None:
    """The checker of logs in columns, strict; None in a tree that does not have it."""
    try:
        certificates: Any = importlib.import_module("kraftcheck.traces.checkers.certificates")
    except ModuleNotFoundError:
        return None

    def judge(history: History) -> Verdict:
        (found,) = certificates.check_history(history)
        verdict: Verdict = found
        return verdict

    return judge
