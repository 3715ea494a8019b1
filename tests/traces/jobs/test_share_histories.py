"""Records of a share group in simulated runs: a second oracle beside the invariants of the spec."""

from __future__ import annotations

import pytest

from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.jobs.histories import judge_histories

SEEN = {"Z412": 41, "Z423": 8, "Z431": 11, "Z432": 16}
"""By bug, the run of the campaign of seed 1 in which consumers see it."""
CAMPAIGN = 1


def verdicts(first: int, runs: int, bug: str | None = None) -> list[str]:
    options = {"watched": False} if bug else None
    part = simulate_part("shares", CAMPAIGN, first, runs, bug, options)
    found: list[str] = (
        judge_histories("shares", part.tables["runs"]).verdicts["verdict"].to_pylist()
    )
    return found


def test_correct_runs_hold() -> None:
    found = verdicts(0, 60)
    assert set(found) == {HOLDS} and len(found) > 100


@pytest.mark.parametrize(("bug", "run"), SEEN.items())
def test_a_bug_is_seen_and_the_run_without_it_holds(bug: str, run: int) -> None:
    assert VIOLATED in verdicts(run, 1, bug)
    assert VIOLATED not in verdicts(run, 1)
