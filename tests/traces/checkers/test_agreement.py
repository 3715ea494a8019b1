"""The columnar checker and its twin say the same of small logs made to be hard.

A smaller run of `python -m tests.traces.checkers.agreement`, which takes a hundred thousand.
"""

from __future__ import annotations

import pytest

from kraftcheck.traces.checkers import scans
from kraftcheck.traces.checkers.columns import indices
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from tests.traces.checkers.agreement import judge, report
from tests.traces.checkers.small import LOG_KINDS, log_history


@pytest.mark.slow
def test_both_agree() -> None:
    found = judge(0, 1_400)
    assert report(found)
    assert {*found.verdicts} >= {(kind, each) for kind in LOG_KINDS for each in (HOLDS, VIOLATED)}


def test_a_seed_is_a_history() -> None:
    assert log_history(17) == log_history(17) and log_history(17) != log_history(24)


def test_a_checker_that_errs_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "future_reads", lambda records, _: indices(records.judged & 0))
    assert not report(judge(0, 700))
