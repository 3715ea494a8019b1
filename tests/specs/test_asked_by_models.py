"""What guided campaigns ask for is what TLC's models have, and does what nothing drawn does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.sim.asked_by_models import asked_by_models as stored
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.guidance import of_a_seed
from kraftcheck.traces.store import Campaign
from tests.specs import asked_by_models
from tests.specs.asked_by_models import WRITTEN, asked, written

BY_NAME = {each.name: each for each in PROTOCOLS}
ASKED = [name for name in BY_NAME if stored(name)]


@pytest.mark.slow
def test_it_is_what_the_models_have() -> None:
    assert WRITTEN.read_text("utf-8") == written()
    assert all(family(name).on_request for name in ASKED)


@pytest.mark.slow
def test_a_model_that_asks_for_more_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SPECS, tmp_path / "specs")
    monkeypatch.setattr(asked_by_models, "SPECS", tmp_path / "specs")
    table = tmp_path / "specs/quorum/voters/models.toml"
    text = table.read_text("utf-8")
    table.write_text(text.replace("FetchMaxRecords = 1", "FetchMaxRecords = 3"), "utf-8")
    assert text != table.read_text("utf-8")
    assert {"fetch_max_records": 3} in asked(BY_NAME["voters"])
    assert WRITTEN.read_text("utf-8") != written()


def test_as_much_is_asked_for_as_goes_with_what_is_drawn() -> None:
    """Who was formatted without a set is no first voter."""
    assert {"first_voters": (1, 2), "unformatted": (3,)} in stored("voters")
    assert {"kraft_version": 0} in stored("voters")


@pytest.mark.parametrize("name", sorted(ASKED))
def test_bounds_of_models_are_not_asked_for(name: str) -> None:
    world = BY_NAME[name].world
    assert world is not None
    for own in stored(name):
        assert not [of for of in own if of.startswith("max_")]
        assert any(value not in world.constants[of] for of, value in own.items())


def test_a_way_of_several_constants_finds_what_none_of_one_does() -> None:
    """Z201: a leader that writes no bootstrap set leaves out who was formatted without it."""
    ways = of_a_seed(Campaign(scenario="voters", seed=1, runs=0, bug="Z201", guided=32))
    told = {how: _violated(own) for how, own in ways.items()}
    assert told.pop("fresh unformatted=[3]") == {"VotersAreKnown"}
    assert set().union(*told.values()) == set()


def _violated(own: dict[str, Any]) -> set[str]:
    runs = [simulate_run("voters", 1, run, "Z201", own) for run in range(3)]
    return {each.invariant for run in runs for each in run.result.violations}
