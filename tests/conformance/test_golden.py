"""The golden trace is accepted: format, values and spec still fit what was once recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from kraftcheck.traces.steps.check import CHECKS
from kraftcheck.traces.store import read_manifest
from tests.conformance.golden import CAMPAIGN, GOLDEN


def test_the_golden_trace_is_the_one_that_its_recorder_names() -> None:
    assert read_manifest(GOLDEN).campaign == CAMPAIGN


@pytest.mark.tlc
def test_the_golden_trace_is_accepted(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "trace")
    result = conform(tmp_path / "trace", ConformOptions(backend=Pool(1)))
    assert (result.verdict, result.reasons) == ("holds", [])
    assert result.summary["findings"]["by_check"] == dict.fromkeys(CHECKS, 0)
    # It would be no evidence if it were about nothing.
    assert result.summary["runs"] == CAMPAIGN.runs
    assert result.summary["steps"] > 300
    assert sum(count > 0 for count in result.summary["actions"].values()) >= 14
