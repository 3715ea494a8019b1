"""A failing run made small: delta debugging over its choices.

0 is the simplest meaning of every choice (choices.py), so a run with fewer choices that are not 0
has fewer faults in it. Three things are tried over and over, on large stretches first: to make
choices 0, to leave choices out, and to lower single ones (Zeller and Hildebrandt, "Simplifying and
Isolating Failure-Inducing Input", 2002). What is kept breaks the same property and is cheaper: it
has fewer steps and fewer choices that are not 0.

Law of this file: a candidate is a run of its own. What counts are the choices that it made, not
those that it was offered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from kraftcheck.reference.runner.run import Run, simulate_run
from kraftcheck.reference.sim.choices import Choice, RecordingChooser, ReplayChooser
from kraftcheck.reference.sim.recorder import RunResult
from kraftcheck.reference.sim.schedules import Schedule
from kraftcheck.traces.schema import PROGRESSED, STOPPED

Told: TypeAlias = Callable[[int, int], None]
"""Called with (attempts, steps of the smallest run so far)."""

Choices: TypeAlias = tuple[Choice, ...]


class Failing(NamedTuple):
    """A run that breaks a property, and the choices that it made."""

    run: Run
    choices: Choices

    @property
    def cost(self) -> tuple[int, int]:
        faults = sum(choice.value > 0 for choice in self.choices)
        return len(self.run.steps) + 2 * faults, sum(choice.value for choice in self.choices)


class Shrunk(NamedTuple):
    schedule: Schedule
    run: Run
    attempts: int


def failure_of(result: RunResult) -> str:
    """What a run breaks: its first invariant, or what it lacked to make progress; else empty.

    Nodes and offsets are left out, since a smaller run has others.
    """
    if result.violations:
        return result.violations[0].invariant
    if result.verdict in (PROGRESSED, STOPPED):
        return ""
    return re.sub(r"\d+", "#", result.verdict)


def replayed(schedule: Schedule) -> tuple[Run, ReplayChooser]:
    """The run of a schedule, and the chooser, which says what of it could not be chosen.

    Raises ValueError: no such scenario, option or bug.
    """
    chooser = ReplayChooser(schedule.choices)
    run = simulate_run(
        schedule.scenario, 0, 0, schedule.bug, dict(schedule.options), chooser=chooser
    )
    return run, chooser


def shrink(schedule: Schedule, attempts: int = 2000, told: Told | None = None) -> Shrunk:
    """The smallest run that was found to break the same property, within so many attempts.

    Raises ValueError: the schedule breaks nothing.
    """
    search = _Search(schedule, attempts, told)
    search.exhaust()
    smallest = replace(schedule, choices=search.best.choices, violates=search.failure)
    return Shrunk(smallest, search.best.run, search.attempts)


class _Search:
    def __init__(self, schedule: Schedule, limit: int, told: Told | None) -> None:
        self._schedule = schedule
        self._limit = limit
        self._told = told
        self.attempts = 0
        first = self._run(schedule.choices)
        self.failure = failure_of(first.run.result)
        if not self.failure:
            raise ValueError("the run violates nothing and makes progress: nothing to shrink")
        self.best = first

    def _run(self, choices: Sequence[Choice]) -> Failing:
        schedule = self._schedule
        recording = RecordingChooser(ReplayChooser(choices))
        run = simulate_run(
            schedule.scenario, 0, 0, schedule.bug, dict(schedule.options), chooser=recording
        )
        return Failing(run, tuple(recording.choices))

    def _accepts(self, choices: Sequence[Choice]) -> bool:
        """Whether these choices make a cheaper run that fails alike; it is then the best."""
        self.attempts += 1
        found = self._run(choices)
        better = failure_of(found.run.result) == self.failure and found.cost < self.best.cost
        if better:
            self.best = found
        if self._told is not None:
            self._told(self.attempts, len(self.best.run.steps))
        return better

    def exhaust(self) -> None:
        """Tries until nothing helps any more, or the limit is reached."""
        cost = None
        while cost != self.best.cost and self.attempts < self._limit:
            cost = self.best.cost
            for changed in (zeroed, left_out):
                self._in_stretches(changed)
            self._lower()

    def _in_stretches(self, changed: Callable[[Choices, int, int], Choices | None]) -> None:
        size = len(self.best.choices)
        while size and self.attempts < self._limit:
            at = 0
            while at < len(self.best.choices) and self.attempts < self._limit:
                candidate = changed(self.best.choices, at, at + size)
                if candidate is None or not self._accepts(candidate):
                    at += size
            size //= 2

    def _lower(self) -> None:
        at = 0
        while at < len(self.best.choices):
            for value in _lower_values(self.best.choices[at].value):
                if self.attempts == self._limit:
                    return
                choices = self.best.choices
                if at < len(choices) and self._accepts(_with(choices, at, value)):
                    break
            at += 1


def zeroed(choices: Choices, start: int, end: int) -> Choices | None:
    """With the simplest choices in a stretch; None if they are the simplest already."""
    if not any(choice.value for choice in choices[start:end]):
        return None
    simple = tuple([choice._replace(value=0) for choice in choices[start:end]])
    return (*choices[:start], *simple, *choices[end:])


def left_out(choices: Choices, start: int, end: int) -> Choices | None:
    """Without a stretch: later choices of its streams move up."""
    return (*choices[:start], *choices[end:])


def _with(choices: Choices, at: int, value: int) -> Choices:
    return (*choices[:at], choices[at]._replace(value=value), *choices[at + 1 :])


def _lower_values(value: int) -> Iterator[int]:
    if value > 1:
        yield 1
        yield value // 2
        yield value - 1
