"""Whether the steps of steered runs are steps of the spec: TLC is asked about many runs at once.

A start of TLC costs as much as hundreds of runs. So runs wait until so many of them have steps
without a verdict, and then all of them are asked about together; the first one that holds a refused
step is found, whenever that is. Where a bug was put into the reference, only its departures are
asked about: the steps that the correct reference would not have taken from the same row. The others
are judged in runs of the correct reference, of which every step is.

Law of this file: a step is refused iff TLC says so (traces/jobs/allowed.py), or the spec has no
value for one of its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.reference.runner.scripted import Replayed, begin, replay
from kraftcheck.reference.steered.failures import REJECTED, Failure, StepRejected
from kraftcheck.reference.steered.moves import NodeStep
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.departures import correct_handlers, departs
from kraftcheck.traces.counterexamples.moves import make_alike
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.steered import broken_promise
from kraftcheck.traces.steps.symmetry import Step

REMEMBERED: Final = 200_000
"""Steps whose class is remembered, about 1 kB each."""


class Suspect(NamedTuple):
    """A step that may be refused."""

    key: bytes | None
    """Of its class (Allowed); None, if a row of it has no form in the spec: then the spec has no
    such step.
    """
    step: NodeStep


class Refused(NamedTuple):
    number: int
    """Of the run, from 0, in the order in which runs were put."""
    script: Script
    """Its moves, or as much of a script as was given."""
    step: NodeStep

    @property
    def failure(self) -> StepRejected:
        return rejection(self.step, list(self.script.moves))

    @property
    def violating(self) -> Script:
        """The script that says what it violates."""
        return replace(self.script, violates=self.failure.name)


class _Waiting(NamedTuple):
    number: int
    script: Script
    suspects: list[Suspect]


class Relation:
    """What TLC says of the steps of runs with one bug, or with none."""

    def __init__(self, allowed: Allowed, bug: str | None, first: int = 1, most: int = 1000) -> None:
        """first: so many runs wait until TLC is asked; each time twice as many, up to `most`."""
        self._allowed = allowed
        self._bug = bug
        self._wanted, self._most = first, most
        self._known: dict[tuple[Any, int, Any, Any], Suspect | None] = {}
        self._waiting: list[_Waiting] = []
        self.classes: set[bytes] = set()
        """Of the steps that were met and are or will be judged."""
        self.runs = 0
        """Runs that were put."""
        self.found: Refused | None = None
        """The first of them that holds a refused step, as far as TLC was asked."""

    @property
    def hopeful(self) -> bool:
        """Of a bug only departures are asked about."""
        return self._bug is not None

    @property
    def waits(self) -> int:
        """How many runs wait."""
        return len(self._waiting)

    def put(self, steps: Iterable[NodeStep], script: Script) -> None:
        """The steps of a run that has ended. TLC is asked when enough runs wait.

        Raises ToolError, TraceError: TLC cannot be used, or could not judge a step.
        """
        number, self.runs = self.runs, self.runs + 1
        suspects = self.suspects(steps) if self.found is None else []
        if not suspects:
            return
        self._waiting.append(_Waiting(number, script, suspects))
        if self.first_refused(suspects) or len(self._waiting) >= self._wanted:
            self._wanted = min(self._most, 2 * self._wanted)
            self.ask()

    def ask(self, most: int | None = None) -> Refused | None:
        """Asks TLC about the runs that wait, or about this many classes of their steps.

        Returns `found`. Raises as `put`.
        """
        self._allowed.ask(most)
        waiting, self._waiting = self._waiting, []
        for number, script, suspects in waiting:
            if self.found is None and (step := self.first_refused(suspects)):
                self.found = Refused(number, script, step)
        return self.found

    def learn(self) -> None:
        """Asks TLC about all steps that were met so far. Raises as `put`."""
        self._allowed.ask()

    def judged(self) -> int:
        """Of `classes`, how many have a verdict."""
        return sum(self._allowed.refuses(key) is not None for key in self.classes)

    def first_refused(self, suspects: Sequence[Suspect]) -> NodeStep | None:
        """The first that is known to be none of the spec."""
        for key, step in suspects:
            if key is None or self._allowed.refuses(key):
                return step
        return None

    def suspects(self, steps: Iterable[NodeStep]) -> list[Suspect]:
        """Those that TLC has not allowed so far, in order."""
        found = []
        for step in steps:
            # Handlers are functions: the same input to the same row is the same step.
            key = (step.constants, step.node, step.before, step.input)
            if key not in self._known:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[key] = self._suspect(step)
            suspect = self._known[key]
            if suspect is not None:
                if suspect.key is not None and self._allowed.refuses(suspect.key) is False:
                    self._known[key] = None
                else:
                    found.append(suspect)
        return found

    def _suspect(self, step: NodeStep) -> Suspect | None:
        if self._bug is not None and not departs(step, correct_handlers(step.constants)):
            return None
        taken = (step.before, step.input, step.after, step.sent, step.ignored)
        key = self._allowed.name(step.constants, Step(step.action, step.node, *taken))
        if key is not None:
            self.classes.add(key)
        return Suspect(key, step)

    # --- Of one script

    def run(
        self, script: Script, moves: Sequence[str], hoped: str = ""
    ) -> tuple[tuple[str, ...], Failure | None]:
        """Make these moves, or moves like them; return those made, and their failure.

        A step that TLC is known to refuse is a failure. hoped: of this action, steps without a
        verdict count too.
        """
        schedule = begin(script)
        kept, failure = make_alike(schedule, moves)
        if failure is not None:
            return kept, failure
        suspects = self.suspects(schedule.steps())
        step = self.first_refused(suspects)
        if hoped and (step is None or step.action != hoped):
            step = next((each.step for each in suspects if each.step.action == hoped), step)
        return kept, rejection(step, list(kept)) if step else None


def replayed(script: Script, verdicts: Callable[[], Allowed], skip: bool = False) -> Replayed:
    """Replay a script as replaying.replay does, and judge what clients are promised.

    TLC judges the steps as well if the script says that it holds a rejected step.

    verdicts: makes what asks TLC. Raises also as Relation.put.
    """
    found = replay(script, broken_promise, skip)
    if found.failure is not None or not script.violates.startswith(REJECTED):
        return found
    relation = Relation(verdicts(), script.bug)
    relation.put(found.schedule.steps(), replace(script, moves=found.made))
    refused = relation.ask()
    return found._replace(failure=refused.failure) if refused else found


def rejection(step: NodeStep, moves: list[str]) -> StepRejected:
    who = "the controller" if step.node < 0 else f"node {step.node}"
    return StepRejected(step.action, f"{who} took a step that the spec does not allow", moves)
