"""What each checker says of one small history of a log, and whether they say the same.

    search      the kit's, with its model
    columnar    the kit's, of logs
    twin        every execution is tried (slow_logs.py), without a model of ours
    enumerate   every order is tried with our model, where there are few operations

A checker that cannot decide a history says `unknown`, and agrees with all; how often is counted.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.traces.checkers import certificates, search
from kraftcheck.traces.checkers.models import model_of
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Verdict
from kraftcheck.traces.history import History
from tests.traces.checkers.enumerate import linearization
from tests.traces.checkers.slow_logs import TooLarge, linearizable

ENUMERATED_MAX: Final = 5
"""Up to so many operations, every order is tried as well."""


def opinions(history: History) -> dict[str, Verdict]:
    """By the checker's name. The history has one log."""
    model = model_of(history)
    (searched,), (columnar,) = search.check(history, model), certificates.check_history(history)
    found = {"search": searched, "columnar": columnar, "twin": _by_executions(history)}
    if sum(map(model.judges, history.operations)) <= ENUMERATED_MAX:
        found["enumerate"] = _enumerated(history, model)
    return found


def _by_executions(history: History) -> Verdict:
    try:
        verdict = HOLDS if linearizable(history) else VIOLATED
    except TooLarge:
        verdict = UNKNOWN
    return Verdict(verdict=verdict, model="partition-log")


def differ(found: dict[str, Verdict]) -> bool:
    """Whether one says `holds` and another `violated`."""
    return len({each.verdict for each in found.values()} - {UNKNOWN}) > 1


def _enumerated(history: History, model: Model) -> Verdict:
    order = linearization(history.operations, model)
    if order is None:
        return Verdict(verdict=VIOLATED, model=model.name)
    return Verdict(verdict=HOLDS, model=model.name, witness=tuple(each.index for each in order))
