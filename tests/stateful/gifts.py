"""What a failure leaves behind: a schedule of its moves in a file, and the commands that take it.

Hypothesis makes a failing example again and again while it shrinks, and the smallest one last. The
file's name says which machine failed and how, so each example replaces the one before, and what
stays is the smallest.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from reference.sim.steered.failures import Failure, NoProgress, PromiseBroken
from reference.sim.steered.moves import Steered
from reference.sim.steered.scripts import Script, write
from tests.stateful import reached

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "runs" / "chaos"


class SteeredMachine(RuleBasedStateMachine):
    """A machine over a steered run. name: of the machine in schedules. bug: of its reference.
    keeps: the folder for schedules of failures; None where failing is what is wanted.
    """

    name: ClassVar[str]
    bug: ClassVar[str | None] = None
    keeps: ClassVar[Path | None] = None

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

    def _give(self, failure: Failure, drawn: int) -> None:
        if self.keeps is not None:
            script = Script(
                machine=self.name,
                bug=self.bug,
                violates=failure.name,
                options=self.steered().setting(),
                moves=tuple(failure.moves[:drawn]),
            )
            failure.add_note(keep(script, self.keeps))


def keep(script: Script, folder: Path) -> str:
    """Writes the schedule of a failure; what to do with it, in words."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [script.machine, script.bug or "", re.sub(r"\W+", "-", script.violates).strip("-")]
    path = folder / ("-".join(word for word in words if word)[:80] + ".moves")
    text = write(script)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    lines = {
        "schedule": f"{shown} ({len(script.moves)} moves)",
        "replay": f"kraftcheck replay {shown}",
        "steps": f"kraftcheck conform {shown}",
        "timeline": f"kraftcheck check {shown} --html {shown.with_suffix('')}-pages",
        "keep": f"cp {shown} tests/corpus/",
    }
    return "\n".join(f"{key:<9} {value}" for key, value in lines.items())


def keeping(machine: type[SteeredMachine]) -> type[SteeredMachine]:
    """The machine whose failures are kept: the search, in which nothing should be found."""
    return type(machine.__name__, (machine,), {"keeps": KEPT, "__module__": machine.__module__})
