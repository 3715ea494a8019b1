"""Whole campaigns of the simulator, judged: good ones hold, one with a planted bug is violated."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.reference.quorum.protocol import VOTER
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import Conformance, ConformOptions, conform
from kraftcheck.traces.jobs.simulate import simulate
from kraftcheck.traces.report.page import write_report
from kraftcheck.traces.store import Campaign


def judged(directory: Path, campaign: Campaign) -> Conformance:
    pool = Pool(2)
    simulate(directory, campaign, backend=pool)
    return conform(directory, ConformOptions(backend=pool, explain=10))


@pytest.mark.tlc
@pytest.mark.slow
def test_runs_of_the_reference_are_behaviours_of_the_spec(tmp_path: Path) -> None:
    result = judged(tmp_path / "t", Campaign(scenario="quorum", seed=11, runs=60))
    assert (result.verdict, result.reasons) == ("holds", [])
    assert result.summary["runs"] == 60
    taken = {action for action, count in result.summary["actions"].items() if count}
    assert taken >= set(VOTER.actions) - {"HandleCheckQuorumTimeout", "HandleResign"}
    assert "HOLDS" in write_report(tmp_path / "t").read_text(encoding="utf-8")


@pytest.mark.tlc
@pytest.mark.slow
def test_a_vote_that_is_not_persisted_is_seen_in_the_step_that_gives_it(tmp_path: Path) -> None:
    # One set of constants is one JVM.
    fixed = {"voters": 3, "fetch_max_records": 2}
    campaign = Campaign(scenario="quorum", seed=11, runs=80, bug="Z01", options=fixed)
    result = judged(tmp_path / "t", campaign)
    assert result.verdict == "violated"
    assert result.summary["runs_with_rejected_steps"] > 0
    first = result.summary["rejections"][0]
    assert any(line.startswith("after.quorumState.voted:") for line in first["differences"])
    # The bug is one rule replaced: nothing else may look wrong.
    assert not any(result.summary["findings"]["by_check"].values())
