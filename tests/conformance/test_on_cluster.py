"""Runs of coordinators whose log is a partition of a cluster, judged by TLC: good ones hold, and a
known bug's steps are rejected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.reference.protocols import COORDINATED
from kraftcheck.traces.store import Campaign
from tests.conformance.test_campaigns import judged

pytestmark = [pytest.mark.tlc, pytest.mark.slow]

OPTIONS: dict[str, dict[str, Any]] = {
    # Data partitions of several replicas as well, whose leaders change.
    "transactions-on-cluster": {"coordinator_replicas": 2, "coordinator_change_leader": 100},
}


ELECTED = {
    "transactions": "HandleElect",
    "groups": "HandleMoveCoordinator",
    "commits": "HandleMoveCoordinator",
    "classic": "HandleMoveClassicCoordinator",
    "shares": "HandleMoveShareCoordinator",
}


@pytest.mark.parametrize("scenario", sorted(COORDINATED))
def test_runs_on_a_cluster_are_behaviours_of_the_specs(scenario: str, tmp_path: Path) -> None:
    options = OPTIONS.get(scenario, {})
    campaign = Campaign(scenario=scenario, seed=2, runs=3, options=options)
    result = judged(tmp_path / "t", campaign)
    assert (result.verdict, result.reasons) == ("holds", [])
    assert result.summary["actions"][ELECTED[scenario.removesuffix("-on-cluster")]] > 0


@pytest.mark.parametrize(
    ("scenario", "bug", "options"),
    [
        (
            "classic-on-cluster",
            "Z99",
            {
                **{"coordinator_members": [1, 2, 3], "coordinator_partitions": [1, 2, 3]},
                **{"coordinator_request_rejoin": 200, "coordinator_cooperative": True},
                "coordinator_classic_request_timeout": 200,
            },
        ),
        ("groups-on-cluster", "Z91", {}),
    ],
)
def test_a_bugs_steps_on_a_cluster_are_rejected(
    scenario: str, bug: str, options: dict[str, Any], tmp_path: Path
) -> None:
    campaign = Campaign(scenario=scenario, seed=1, runs=22, bug=bug, options=options)
    result = judged(tmp_path / "t", campaign)
    assert result.verdict == "violated"
    assert result.summary["runs_with_rejected_steps"] > 0
    assert not any(result.summary["findings"]["by_check"].values())
