"""Steps that tell mutants of the specs apart: recorded ones, and attempts that no run made.

A *battery* is a list of steps of the correct reference under one set of constants, judged in one
frame: every distinct step of some runs, and attempts (kraftcheck/known_bugs/attempts.py). A spec
whose guard is dropped must refuse some step that the reference took, or allow what it refused.

Law of this file: on all of them the correct reference and the correct spec agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.known_bugs import schedules
from kraftcheck.known_bugs.attempts import (
    CHANGES,
    ROWS,
    RUNS,
    Recorded,
    Taking,
    attempted,
    enter,
    hunts,
    key_of,
    recorded,
    taken_steps,
)
from kraftcheck.known_bugs.witnesses import WATCHED
from kraftcheck.reference.protocols import kind_named
from kraftcheck.reference.runner.scripted import recorded as replayed
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.steps.symmetry import Step
from kraftcheck.traces.steps.translation import Abstraction, as_columns, step_frame
from tla_utils import CheckOptions, StepFrame, StepTable, Value, check_steps

SMALL: Final = 8
"""One step in so many is judged first."""
SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "PartitionRules": ("cut-to-older-epoch.moves", "last-leader-came-back.moves")
}
"""By module of rules, schedules of the correct protocol (schedules.py) that come to rows that no
run had. Their steps are judged as they are: nothing is attempted."""


class Battery(NamedTuple):
    """Steps under one set of constants. recorded: so many of them were taken in runs."""

    frame: StepFrame
    form: Abstraction
    steps: tuple[Step, ...]
    recorded: int

    def refused(self, frame: StepFrame, options: CheckOptions) -> list[int]:
        """The steps that a spec with this frame does not allow, or cannot evaluate."""
        columns = [as_columns(self.form, step) for step in self.steps]
        return check_steps(frame, StepTable.from_steps(columns), options).numbers("rejected")

    def only(self, numbers: Iterable[int]) -> Battery:
        """The battery of these steps alone, in ascending order."""
        kept = list(numbers)
        return self._replace(
            steps=tuple(self.steps[at] for at in kept),
            recorded=sum(at < self.recorded for at in kept),
        )

    def parts(self) -> tuple[Battery, Battery]:
        """A small part, taken evenly, and the rest."""
        every = range(len(self.steps))
        return self.only(every[::SMALL]), self.only(at for at in every if at % SMALL)


def batteries(
    module: str,
    runs: int = RUNS,
    rows: int = ROWS,
    changes: int = CHANGES,
    bug: str | None = None,
) -> Iterator[Battery]:
    """The batteries of a module of rules: the same ones each time. bug: in whatever is attempted;
    what is recorded is of the correct reference.
    """
    for hunt in hunts(module):
        constants, known_by_kind = recorded(hunt, runs)
        for kind, known in known_by_kind.items():
            taken = taken_steps(known)
            tried = attempted(Taking(constants, bug), taken, rows, changes)
            made = [step for step in tried if key_of(step) not in known]
            yield _battery(kind, constants, taken, made)
    for name in SCHEDULES.get(module, ()):
        yield from of_schedule(schedules.stored(name))


def of_schedule(script: Script) -> Iterator[Battery]:
    """The distinct steps of a schedule, by the kinds of nodes that took them.

    Raises BadInput: a move is not possible.
    """
    run, _ = replayed(schedules.made(script, WATCHED, script.bug))
    found: Recorded = {}
    enter(run, found)
    for kind, known in found.items():
        yield _battery(kind, run.result.constants, [*known.values()], ())


def _battery(kind: str, constants: Any, recorded: Sequence[Step], tried: Sequence[Step]) -> Battery:
    frame = step_frame(kind_named(kind), constants, refusals=True)
    return Battery(frame, _Remembering(constants), (*recorded, *tried), len(recorded))


class _Remembering(Abstraction):
    """Gives the same object its form once: most rows are given many inputs, and most inputs to many
    rows."""

    def __init__(self, constants: Any) -> None:
        super().__init__(constants)
        # With the object itself: a number that nobody holds may be another's later.
        self._forms: dict[int, tuple[Any, Value]] = {}

    def row(self, row: Any) -> Value:
        if id(row) not in self._forms:
            self._forms[id(row)] = row, super().row(row)
        return self._forms[id(row)][1]

    def input(self, input: Any) -> Value:
        if id(input) not in self._forms:
            self._forms[id(input)] = input, super().input(input)
        return self._forms[id(input)][1]
