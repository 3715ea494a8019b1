"""A node that is away takes no step, the others go on, and that leads where nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kraftcheck.reference.core.run import MOVE_US
from kraftcheck.reference.drivers.chance import AWAY_MOVES
from kraftcheck.reference.drivers.options import AWAY
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.sim.options import options_json

OWN = family("snapshots").on_request[AWAY]


def _idle(own: dict[str, Any]) -> Iterator[set[int]]:
    """In each stretch of moves, who takes no step."""
    run = simulate_run("snapshots", 1, 0, options={**own, "moves": 6 * AWAY_MOVES, "lost": 0})
    for begin in range(6):
        stretch = [s for s in run.steps if s.time // MOVE_US // AWAY_MOVES == begin]
        yield {1, 2, 3} - {each.node for each in stretch}


def test_one_node_at_a_time_is_away() -> None:
    away = list(_idle({**OWN, AWAY: 1000}))
    assert all(len(idle) == 1 for idle in away)
    assert len({*map(tuple, away)}) > 1, "it comes back"
    assert not any(_idle({**OWN, AWAY: 0}))


def test_who_is_away_hears_nothing_at_once() -> None:
    """Members of a group whose coordinator is away are not heard, and wait."""
    options = {**family("groups").on_request[AWAY], "moves": AWAY_MOVES, "lost": 0}
    steps = simulate_run("groups", 1, 0, options={**options, AWAY: 1000}).steps
    in_time = [each for each in steps if each.time < AWAY_MOVES * MOVE_US]
    nodes = {each.node for each in simulate_run("groups", 1, 0, options=options).steps}
    assert nodes - {each.node for each in in_time}


@pytest.mark.parametrize("scenario", ["snapshots", "groups"])
def test_nobody_is_away_unless_asked(scenario: str) -> None:
    """And then nothing is told of it: runs are recorded as ever."""
    assert AWAY not in options_json(simulate_run(scenario, 1, 0).result.options)
    asked = simulate_run(scenario, 1, 0, options={AWAY: 10})
    assert '"away":10' in options_json(asked.result.options)


def test_it_finds_what_hardly_any_plain_run_does() -> None:
    """Z121, in 9 of 200 runs; of 463 plain ones in one. A deposed leader that was away loads a
    snapshot behind records of its own."""
    found = simulate_run("snapshots", 1, 3, "Z121", OWN).result.violations
    assert [each.invariant for each in found] == ["LogMatching"]
    assert not simulate_run("snapshots", 1, 3, None, OWN).result.violations


def test_it_must_be_a_share() -> None:
    with pytest.raises(ValueError, match="away is 1001"):
        simulate_run("snapshots", 1, 0, options={AWAY: 1001})
