"""What a hunt finds is the bug's doing, and what is stored is found again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraftcheck.known_bugs import hunting, oracles, violations
from kraftcheck.known_bugs.hunting import hunt_down, is_the_bugs
from kraftcheck.known_bugs.oracles import FOUND, Opinion
from kraftcheck.known_bugs.runs import consult, differs
from kraftcheck.known_bugs.witnesses import Hunt, Witness, hunt_of, stored
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.specs import SPECS
from tla_utils import read_manifest


def hunted(bug: str) -> Hunt:
    hunt = hunt_of(known_bug(bug))
    assert hunt is not None
    return hunt


def test_the_first_run_of_each_oracle_is_found() -> None:
    found = hunt_down(hunted("Z06"), ["invariants", "histories"], 20)
    assert found == {
        "invariants": Witness(seed=1, run=4),
        "histories": Witness(seed=1, run=10),
    }
    assert hunt_down(hunted("Z06"), ["invariants"], 4) == {}


def test_a_run_without_the_bug_is_no_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    # Run 0 votes without a look at the log; a history that is called bad all the same is not the
    # bug's when the correct protocol's is called bad, too.
    everything_is_bad = Opinion(oracle="histories", verdict=FOUND, found_runs=(4,))
    monkeypatch.setattr(oracles, "judge", lambda *_: everything_is_bad)
    assert differs(hunted("Z06"), 4) and not is_the_bugs(hunted("Z06"), "histories", 4)
    three = Hunt(scenario="quorum", bug="Z10", options={"voters": 3})
    assert not differs(three, 0) and not is_the_bugs(three, "invariants", 0)
    assert hunting.is_the_bugs(hunted("Z06"), "invariants", 4)


def test_a_bug_that_is_asked_between_steps_makes_a_difference() -> None:
    assert not consult(hunted("Z48"), [8]).effective
    assert differs(hunted("Z48"), 8)


@pytest.mark.parametrize("bug", sorted(stored()))
def test_a_stored_run_is_not_the_correct_protocols(bug: str) -> None:
    for witness in stored()[bug].values():
        if witness.schedule:
            continue  # test_schedules.py
        assert differs(witness.hunt_of(hunted(bug)), witness.run)


def test_a_stored_run_keeps_the_options_of_its_hunt() -> None:
    hunt = Witness(seed=3, run=1, options={"slow": 5}).hunt_of(hunted("Z10"))
    assert (hunt.seed, hunt.options) == (3, {"voters": 1, "slow": 5})


def test_a_stored_counterexample_is_what_the_manifest_states() -> None:
    manifest = read_manifest(SPECS / "models.toml")
    models = [model for model in manifest.models.values() if model.bug]
    loaded = [violations.load(manifest, model) for model in models]
    known = [(model, found) for model, found in zip(models, loaded, strict=True) if found]
    assert len(known) >= 40
    for model, found in known:
        assert (found.property, found.length) == (model.property, model.length)
    # One of a model that was changed since is none.
    model, _ = known[0]
    assert violations.load(manifest, replace(model, length=99)) is None
