"""What a failure leaves behind: a schedule of its moves in a file, and the commands that take it.

Hypothesis makes a failing example again and again while it shrinks, and the smallest one last. The
file's name says which machine failed and how, so each example replaces the one before, and what
stays is the smallest.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from kraftcheck.reference.steered.failures import (
    Failure,
    NoProgress,
    PromiseBroken,
    Violation,
    script,
)
from kraftcheck.reference.steered.moves import Steered
from kraftcheck.reference.steered.scripts import Script, read, write
from kraftcheck.traces.counterexamples.minimising import minimised, minimised_step
from kraftcheck.traces.counterexamples.relation import Relation
from tests.stateful import reached

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "runs" / "chaos"
last: list[Path] = []
"""The schedule that was kept last."""


class SteeredMachine(RuleBasedStateMachine):
    """A machine over a steered run. name: of the machine; steers: what it has in schedules, if it
    is another one there (reference/steered/scripts.py). bug: of its reference.
    keeps: the folder for schedules of failures; None where failing is what is wanted. relation: to
    it go the steps of every run that does not fail otherwise; who runs the examples asks it.
    """

    name: ClassVar[str]
    steers: ClassVar[str] = ""
    bug: ClassVar[str | None] = None
    keeps: ClassVar[Path | None] = None
    relation: ClassVar[Relation | None] = None

    def steered(self) -> Steered:
        raise NotImplementedError

    def judge(self) -> str:
        """Whether clients saw what was promised: empty, or what is missing."""
        raise NotImplementedError

    def teardown(self) -> None:
        schedule = self.steered()
        drawn = len(schedule.moves)
        if not schedule.sound:
            error = sys.exc_info()[1]
            if isinstance(error, Failure):
                self._give(error, drawn)
            return
        reached.note_run(self.name, schedule)
        try:
            if reason := schedule.progress():
                raise NoProgress(reason, schedule.moves)
            if reason := self.judge():
                raise PromiseBroken(reason, schedule.moves)
        except Failure as error:
            self._give(error, drawn)
            raise
        if self.relation is not None:
            self.relation.put(schedule.steps(), self._script("", schedule.moves))

    def _script(self, violates: str, moves: Sequence[str]) -> Script:
        setting = self.steered().setting()
        return Script(
            machine=self.steers or self.name,
            bug=self.bug,
            violates=violates,
            options=setting,
            moves=tuple(moves),
        )

    def _give(self, failure: Failure, drawn: int) -> None:
        # A replay heals in the end by itself; what fails on the way is told to its end.
        until = None if isinstance(failure, Violation) else drawn
        give(failure, self._script(failure.name, failure.moves[:until]), self.keeps)


def give(failure: Failure, found: Script, folder: Path | None) -> None:
    """Leaves the schedule of a failure behind, if there is a folder for it."""
    if folder is not None:
        last[:] = [keep(found, folder)]
        failure.add_note(what_to_do(last[0]))


def keep(found: Script, folder: Path) -> Path:
    """Writes the schedule of a failure. Returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [found.machine, found.bug or "", re.sub(r"\W+", "-", found.violates).strip("-")]
    path = folder / ("-".join(word for word in words if word)[:80] + ".moves")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(write(found), encoding="utf-8")
    beside.replace(path)
    return path


def what_to_do(path: Path) -> str:
    """The commands that take a schedule, one a line."""
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    lines = {
        "schedule": str(shown),
        "replay": f"kraftcheck replay {shown}",
        "drawing": f"kraftcheck replay {shown} --html {shown.with_suffix('.html')}",
        "steps": f"kraftcheck conform {shown}",
        "timeline": f"kraftcheck check {shown} --run 0 --html {shown.with_suffix('')}-pages",
        "keep": f"cp {shown} tests/corpus/",
    }
    return "\n".join(f"{key:<9} {value}" for key, value in lines.items())


def shorten(failure: Failure, relation: Relation | None = None, attempts: int = 500) -> None:
    """Leaves moves out of the schedule that was kept last, and notes what stays of it. Hypothesis
    shrinks draws; a calm moment is one draw and many moves. relation: where the failure is a step
    that it refuses.
    """
    if not last:
        return
    kept, _ = read(last[0].read_text(encoding="utf-8"))
    try:
        if relation is None:
            small = minimised(kept, attempts).script
        else:
            small = minimised_step(kept, relation, attempts).script
    except ValueError:
        return  # What clients saw, or no progress, is judged at the end alone.
    keep(small, last[0].parent)
    words = script(list(small.moves))
    failure.add_note(f"{len(small.moves)} of these moves are enough:\n{words}")


def keeping(machine: type[SteeredMachine], relation: Relation) -> type[SteeredMachine]:
    """The machine whose failures are kept and whose steps are judged: the search, in which nothing
    should be found.
    """
    added = {"keeps": KEPT, "relation": relation, "__module__": machine.__module__}
    return type(machine.__name__, (machine,), added)
