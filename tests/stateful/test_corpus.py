"""Schedules of the past, replayed first: each still violates what it says, move by move.

A file whose bug is `none` tells of a failure that was mended: it violates nothing. To keep a
schedule, copy it here (docs/reference/chaos.md).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from kraftcheck.reference.runner.scripted import replay
from kraftcheck.reference.runner.shrink import failure_of, replayed
from kraftcheck.reference.sim.schedules import read as read_choices
from kraftcheck.reference.steered.failures import REJECTED
from kraftcheck.reference.steered.scripts import read
from kraftcheck.traces.counterexamples.relation import Relation, replayed as replayed_by
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.steered import broken_promise
from tests.stateful.gifts import KEPT
from tests.stateful.searching import VERDICTS

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
MOVES = sorted(CORPUS.glob("*.moves"))
CHOICES = sorted(CORPUS.glob("*.schedule"))


@cache
def verdicts() -> Allowed:
    """What TLC says of all schedules that hold a rejected step: it is asked about them together."""
    allowed = Allowed(KEPT / VERDICTS)
    for path in MOVES:
        script, _ = read(path.read_text(encoding="utf-8"))
        for bug in (script.bug, None) if script.violates.startswith(REJECTED) else ():
            run = replay(replace(script, bug=bug), broken_promise, skip=True)
            Relation(allowed, bug).suspects(run.schedule.steps())
    allowed.ask()
    return allowed


@pytest.mark.parametrize("path", MOVES, ids=lambda path: path.stem)
def test_moves_violate_what_they_say(path: Path) -> None:
    script, _ = read(path.read_text(encoding="utf-8"))
    found = replayed_by(script, verdicts)
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
    correct = replace(script, bug=None)
    found = replayed_by(correct, verdicts, skip=True)
    assert found.failure is None, str(found.failure)
