"""Search, twin, enumeration and columns say the same of small logs made to be hard.

A smaller run of `python -m tests.traces.checkers.agreement`, which takes a hundred thousand.
"""

from __future__ import annotations

from collections import Counter

import pytest

from kraftcheck.traces.checkers.partition_log import PartitionLog
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Verdict
from tests.traces.checkers.opinions import differ, opinions
from tests.traces.checkers.small import LOG_KINDS, log_history

LOGS = 1_200


def test_all_agree() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(LOGS):
        kind, history = log_history(seed)
        found = opinions(history)
        assert not differ(found), (seed, {name: each.verdict for name, each in found.items()})
        seen[kind, found["search"].verdict] += 1
    assert set(seen) == {(kind, verdict) for kind in LOG_KINDS for verdict in (HOLDS, VIOLATED)}


def test_a_seed_is_a_history() -> None:
    assert log_history(17) == log_history(17) and log_history(17) != log_history(23)


def test_unknown_agrees_with_all_and_holds_does_not_with_violated() -> None:
    holds, violated, unknown = (
        Verdict(verdict=each, model="kv") for each in (HOLDS, VIOLATED, UNKNOWN)
    )
    assert not differ({"a": holds, "b": unknown})
    assert differ({"a": holds, "b": unknown, "c": violated})


def test_a_checker_that_errs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of logs that shows anything: the twin does not share the mistake."""
    monkeypatch.setattr(PartitionLog, "_shows", staticmethod(lambda *_: True))
    monkeypatch.setattr(PartitionLog, "foreseeing", PartitionLog.narrowed)
    found = [opinions(log_history(seed)[1]) for seed in range(120)]
    assert any(each["search"].verdict != each["twin"].verdict for each in found)
