"""Schedules of the past, replayed first: each still violates what it says, move by move.

A file whose bug is `none` tells of a failure that was mended: it violates nothing. To keep a
schedule, copy it here (docs/chaos.md).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reference.sim.schedules import read as read_choices
from reference.sim.shrink import failure_of, replayed
from reference.sim.steered.replaying import replay
from reference.sim.steered.scripts import read
from traces.jobs.steered import broken_promise

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
MOVES = sorted(CORPUS.glob("*.moves"))
CHOICES = sorted(CORPUS.glob("*.schedule"))


@pytest.mark.parametrize("path", MOVES, ids=lambda path: path.stem)
def test_moves_violate_what_they_say(path: Path) -> None:
    script, _ = read(path.read_text(encoding="utf-8"))
    found = replay(script, broken_promise)
    assert (found.failure.name if found.failure else "") == script.violates
    assert not found.skipped


def test_choices_violate_what_they_say() -> None:
    for path in CHOICES:
        schedule = read_choices(path.read_text(encoding="utf-8"))
        run, chooser = replayed(schedule)
        assert failure_of(run.result) == schedule.violates, path.name
        assert not chooser.misfits, path.name


@pytest.mark.parametrize("path", MOVES, ids=lambda path: path.stem)
def test_without_its_bug_a_schedule_violates_nothing(path: Path) -> None:
    script, _ = read(path.read_text(encoding="utf-8"))
    if script.bug is None:
        pytest.skip("it has no bug")
    correct = type(script)(machine=script.machine, moves=script.moves, options=script.options)
    found = replay(correct, broken_promise, skip=True)
    assert found.failure is None, str(found.failure)
