"""Schedules of choices as moves: the same steps, and what violates does so in moves as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.kafka.witness.quorum import retold as retold_voters
from kraftcheck.reference.drivers.script import ScriptedRun
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.reference.runner.run import taken
from kraftcheck.reference.runner.scripted import begin
from kraftcheck.reference.runner.shrink import replayed
from kraftcheck.reference.sim.schedules import Schedule, read
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.traces.counterexamples.moves import make
from kraftcheck.traces.counterexamples.retold import retold

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
CHOICES = sorted(CORPUS.glob("*.schedule"))
OF_VOTERS = "quorum41"
"""Whose moves are a quorum's, which a witness makes only."""


def stored(path: Path) -> Schedule:
    return read(path.read_text(encoding="utf-8"))


def test_moves_make_the_steps_of_the_run() -> None:
    for path in CHOICES:
        schedule = stored(path)
        script = retold(schedule)
        assert (script.bug, script.violates) == (schedule.bug, schedule.violates), path.name
        run, violated = begin(script), ""
        try:
            assert all(make(run, words) for words in script.moves), path.name
        except Failure as failure:
            violated = failure.name
        assert violated == schedule.violates, path.name
        told = [(step.node, step.input, step.after) for step in replayed(schedule)[0].steps]
        assert isinstance(run, ScriptedRun)
        made = [(step.node, step.input, step.after) for step in taken(run.recorder)]
        assert made == told, path.name


def test_a_voters_moves_are_in_its_own_words() -> None:
    [path] = [path for path in CHOICES if path.name.startswith(OF_VOTERS)]
    script = retold_voters(stored(path))
    assert script.options == {"voters": (1, 2), "fetch_max_records": 2}
    assert script.moves[0].startswith("2 -> 1 FetchRequest epoch=0")
    assert not any("Restart" in words for words in script.moves)


def test_what_the_moves_do_not_make_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a message that is delivered does not come."""
    monkeypatch.setattr(ScriptedRun, "deliver", lambda *given: None)
    with pytest.raises(ValueError, match=r"step \d+ of the run is no move: GroupHeartbeatResponse"):
        retold(stored(CORPUS / "tlc-Z90.schedule"))


def test_a_run_with_a_simulation_of_its_own_has_no_moves() -> None:
    assert not next(each for each in PROTOCOLS if each.name == "partition").by_chance
    with pytest.raises(ValueError, match="a run of partition is a row of choices"):
        retold(Schedule(scenario="partition", choices=()))
