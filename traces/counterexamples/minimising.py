"""A schedule of moves made small: delta debugging over the moves.

Stretches of moves are left out, long ones first, then shorter ones, down to single moves, until
nothing can be left out any more (Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002). Moves that are not possible any more without those that are gone are
left out with them, unless there is one alike: with other values and offsets, as there are when
something before it is gone. What is kept violates the same property.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from kraftcheck.reference.runner.scripted import begin, in_the_end
from kraftcheck.reference.steered.failures import REJECTED, Failure
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.moves import make_alike
from kraftcheck.traces.jobs.steered import broken_promise

Runner: TypeAlias = Callable[[Script, Sequence[str]], tuple[tuple[str, ...], Failure | None]]
"""The moves that were possible, up to the first failure, and that failure."""


class Steps(Protocol):
    """What takes the steps of a schedule, and knows which of them TLC refuses (relation.py)."""

    @property
    def hopeful(self) -> bool:
        """Whether it asks about few steps, of which TLC refuses most."""

    def run(
        self, script: Script, moves: Sequence[str], hoped: str = ""
    ) -> tuple[tuple[str, ...], Failure | None]:
        """As a Runner; steps which TLC is known to refuse are a failure.

        hoped: of this action also those without a verdict.
        """

    def learn(self) -> None:
        """Asks TLC about all steps that were met so far. Raises ToolError: it cannot be used."""


class Minimised(NamedTuple):
    script: Script
    failure: Failure
    attempts: int
    """How many schedules were tried."""


def minimised(
    script: Script,
    attempts: int = 2000,
    told: Callable[[int], None] | None = None,
    runner: Runner | None = None,
) -> Minimised:
    """The smallest schedule found within so many attempts.

    told: hears of each. runner: says how moves fail; without one, by what they violate on their way
    or, if that is nothing, in the end.

    Raises ValueError: the moves violate nothing; as `replaying.begin` does.
    """
    if runner is None:
        runner = on_their_way if on_their_way(script, script.moves)[1] else to_the_end
    search = _Search(script, attempts, told, runner)
    while search.shortened():
        pass
    best = replace(script, moves=search.moves, violates=search.failure.name)
    return Minimised(best, search.failure, search.attempts)


def on_their_way(script: Script, moves: Sequence[str]) -> tuple[tuple[str, ...], Failure | None]:
    """As make_alike, from the beginning. Nothing is demanded at the end."""
    return make_alike(begin(script), moves)


def to_the_end(script: Script, moves: Sequence[str]) -> tuple[tuple[str, ...], Failure | None]:
    """As on_their_way; then everything is healed, and progress and what was promised demanded."""
    schedule = begin(script)
    kept, failure = make_alike(schedule, moves)
    if failure is None:
        failure = in_the_end(schedule, broken_promise)
    return kept, failure


def minimised_step(
    script: Script,
    relation: Steps,
    attempts: int = 2000,
    told: Callable[[int], None] | None = None,
) -> Minimised:
    """As `minimised`, where the failure is a step that TLC refuses.

    Steps without a verdict that are met on the way pass; when nothing more can be left out, TLC is
    asked about all of them, and then it goes on. Where they are departures from the correct rules,
    TLC mostly refuses them: so this is hoped at first, and asked about in the end. What is found
    ends with the first step that TLC refuses. Raises also as `learn`.
    """
    relation.run(script, script.moves)
    relation.learn()
    if relation.hopeful:
        action = script.violates.removeprefix(REJECTED)
        runner = partial(relation.run, hoped=action)
        hopeful = _as_judged(minimised(script, attempts, told, runner), relation)
        if hopeful is not None and hopeful.failure.name == script.violates:
            return hopeful
    best = minimised(script, attempts, told, relation.run)
    while best.attempts < attempts:
        relation.learn()
        further = minimised(best.script, attempts - best.attempts, told, relation.run)
        shorter = len(further.script.moves) < len(best.script.moves)
        best = further._replace(attempts=best.attempts + further.attempts)
        if not shorter:
            break
    return _as_judged(best, relation) or best


def _as_judged(found: Minimised, relation: Steps) -> Minimised | None:
    """Cut a schedule after the first step that TLC refuses; None: it refuses none.

    A step before the failure may have had no verdict yet.
    """
    relation.learn()
    kept, failure = relation.run(found.script, found.script.moves)
    if failure is None:
        return None
    script = replace(found.script, moves=kept, violates=failure.name)
    return found._replace(script=script, failure=failure)


class _Search:
    def __init__(
        self,
        script: Script,
        limit: int,
        told: Callable[[int], None] | None,
        runner: Runner,
    ) -> None:
        self._script = script
        self._run = runner
        self._limit = limit
        self._told = told
        self.attempts = 0
        self.moves, failure = runner(script, script.moves)
        if failure is None:
            raise ValueError("the moves violate nothing: there is nothing to shrink")
        self.failure = failure

    def shortened(self) -> bool:
        """Whether any stretch could be left out."""
        before = len(self.moves)
        size = before
        while size:
            at = 0
            while at < len(self.moves):
                if self.attempts == self._limit:
                    return False
                if not self._accepts(self.moves[:at] + self.moves[at + size :]):
                    at += size
            size //= 2
        return len(self.moves) < before

    def _accepts(self, moves: tuple[str, ...]) -> bool:
        """Whether these moves fail alike; they are then the best."""
        self.attempts += 1
        if self._told:
            self._told(self.attempts)
        kept, failure = self._run(self._script, moves)
        if failure is None or failure.name != self.failure.name or len(kept) >= len(self.moves):
            return False
        self.moves, self.failure = kept, failure
        return True
