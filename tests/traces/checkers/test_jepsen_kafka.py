"""Jepsen's own cases of its Kafka workload: the anomalies that it expects, and no others of its."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck import check
from kraftcheck.traces.checkers.anomalies import JEPSEN
from tests.traces.checkers.jepsen_kafka import CASES, written

NAMES = frozenset((*JEPSEN, "G1c")) - {"unseen"}
"""What the cases are about: that a record was not read yet is in most of them."""


@pytest.mark.parametrize("name", CASES)
def test_a_case_of_jepsen(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    report = check(written(case, tmp_path / "history.edn"), complete=False)
    found = {each.name for each in report.anomalies} & NAMES
    assert found == case.found | case.extra, report
    assert bool(case.extra) == bool(case.why)
