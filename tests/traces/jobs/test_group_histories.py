"""Groups' histories of simulated runs: a second oracle beside the invariants of the spec."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc
import pytest

from kraftcheck.known_bugs.witnesses import Hunt, hunt_of, stored
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED, Verdict
from kraftcheck.traces.formats.trace import objects_of
from kraftcheck.traces.jobs.histories import judge_histories
from kraftcheck.traces.jobs.promised import judge_objects, objects_seen
from kraftcheck.traces.schema import PartTables

SEEN = {
    "Z90": "server-double-owner",
    "Z92": "unwritten-assignment",
    "Z99": "double-ownership",
    "Z182": "stale-offset",
    "Z183": "stale-offset",
    "Z184": "offset-lost",
}
"""By bug, what members and committers of its stored run saw."""
GROUPS = ("groups", "commits", "classic")


@pytest.mark.parametrize("scenario", GROUPS)
def test_correct_runs_hold(scenario: str) -> None:
    part = simulate_part(scenario, 11, 0, 40)
    verdicts = judge_histories(scenario, part.tables["runs"]).verdicts
    assert set(verdicts["verdict"].to_pylist()) == {HOLDS}
    assert len(set(verdicts["run"].to_pylist())) > 10
    assert pc.sum(verdicts["operations"]).as_py() == sum(
        map(len, part.tables["runs"]["history"].to_pylist())
    )


def test_histories_of_static_members_hold() -> None:
    options = {"static": ((1, 2),), "members": [1, 2, 3], "max_coordinators": 2}
    part = simulate_part("groups", 5, 0, 20, None, options)
    verdicts = judge_histories("groups", part.tables["runs"]).verdicts
    assert set(verdicts["verdict"].to_pylist()) == {HOLDS}
    assert len(set(verdicts["run"].to_pylist())) > 15


def test_nothing_is_told_after_a_third_broker_coordinates() -> None:
    told: dict[int, list[int]] = {}
    for most in (2, 4):
        options = {"max_coordinators": most, "move_coordinator": 100}
        runs = simulate_part("commits", 5, 0, 20, None, options).tables["runs"]
        told[most] = [len(each) for each in runs["history"].to_pylist()]
    assert min(sum(each) for each in told.values()) > 0
    assert sum(told[4]) < sum(told[2]) and sum(map(bool, told[4])) > 15


def test_an_object_is_of_the_component_that_its_number_says() -> None:
    seen = objects_seen("groups")
    assert seen is not None
    (model,) = seen
    for row in simulate_part("groups", 11, 0, 9).tables["runs"].to_pylist():
        history = objects_of(Path("groups"), row["run"], row["history"], "")
        keys = {str(each.key) for each in judge_objects(history, seen)}
        for component, models in enumerate([[model, None], [None, model]]):
            own = {str(each.key) for each in judge_objects(history, models)}
            assert own == {key for key in keys if int(key) % 2 == component}


@pytest.mark.parametrize(("bug", "anomaly"), SEEN.items())
def test_a_bug_is_seen_and_the_run_without_it_holds(bug: str, anomaly: str) -> None:
    hunt = hunt_of(known_bug(bug))
    assert hunt is not None
    witness = stored()[bug]["histories"]
    found = [*_judged(witness.hunt_of(hunt), witness.run, bug)]
    assert anomaly in {each.certificate.kind for each in found if each.certificate}
    assert {each.verdict for each in _judged(witness.hunt_of(hunt), witness.run, None)} <= {HOLDS}
    assert VIOLATED in {each.verdict for each in found}


def test_no_other_bug_of_groups_has_a_stored_history() -> None:
    with_histories = {
        bug
        for bug, found in stored().items()
        if "histories" in found and known_bug(bug).protocol in GROUPS
    }
    assert with_histories == set(SEEN)


def _judged(hunt: Hunt, run: int, bug: str | None) -> Iterator[Verdict]:
    options = {**hunt.options, "watched": False}
    part: PartTables = simulate_part(hunt.scenario, hunt.seed, run, 1, bug, options)
    recorded = part.tables["runs"]["history"][0].as_py()
    seen = objects_seen(hunt.scenario)
    assert seen is not None
    yield from judge_objects(objects_of(Path(hunt.scenario), run, recorded, ""), seen)
