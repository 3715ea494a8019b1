"""Histories that a property of the whole is asked of: bank, set-full, and the like."""

from __future__ import annotations

from typing import Any

from kraftcheck.checking.objects import LINEARIZABLE, initial_of, refuse_level
from kraftcheck.checking.options import Options
from kraftcheck.traces.checkers.properties import judge
from kraftcheck.traces.history import History
from kraftcheck.traces.report.judged import JudgedHistory


def judge_property(history: History, facts: dict[str, Any], options: Options) -> JudgedHistory:
    """Raises HistoryError: an operation that the property does not have.

    BadInput: a level that it does not have.
    """
    name = facts["model"]
    refuse_level(name, options)
    strict = options.level == LINEARIZABLE
    found = judge(history, name, start=initial_of(history, options), strict=strict)
    broken = [each for each in found.anomalies if not each.allowed]
    certificates = [each for anomaly in broken for each in anomaly.certificates]
    return JudgedHistory(
        **facts,
        verdict=found.verdict,
        certificate=min(certificates, key=lambda each: len(each.operations), default=None),
        reason=found.reason,
        anomalies=found.anomalies,
    )
