"""Runs that no invariant stops: the same up to the violation, and what clients see after it."""

from __future__ import annotations

import pytest

from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.traces.schema import STOPPED

RUNS = {"quorum": ("Z04", 40), "partition": ("Z26", 10)}


def runs(scenario: str, bug: str | None, watched: bool, count: int) -> list[Run]:
    options = {"watched": watched}
    return [simulate_run(scenario, 1, number, bug, options) for number in range(count)]


def told(run: Run) -> list[object]:
    return [operation.fields() for operation in run.result.history]


@pytest.mark.parametrize("scenario", RUNS)
def test_a_run_that_breaks_nothing_is_the_same(scenario: str) -> None:
    for one, other in zip(
        runs(scenario, None, True, 4), runs(scenario, None, False, 4), strict=True
    ):
        assert one.steps == other.steps and told(one) == told(other)
        assert one.result.verdict == other.result.verdict


@pytest.mark.parametrize("scenario", RUNS)
def test_a_violation_does_not_stop_it(scenario: str) -> None:
    bug, count = RUNS[scenario]
    for number in range(count):
        watched = simulate_run(scenario, 1, number, bug, {"watched": True})
        if watched.result.verdict != STOPPED:
            continue
        goes_on = simulate_run(scenario, 1, number, bug, {"watched": False})
        assert goes_on.result.violations == []
        stopped_at = len(watched.steps)
        assert len(goes_on.steps) > stopped_at
        assert goes_on.steps[:stopped_at] == watched.steps
        return
    raise AssertionError(f"none of {count} runs with {bug} violates anything")
