"""A schedule of moves made small: delta debugging over the moves.

Stretches of moves are left out, long ones first, then shorter ones, down to single moves, until
nothing can be left out any more (Zeller and Hildebrandt, "Simplifying and Isolating
Failure-Inducing Input", 2002). Moves that are not possible any more without those that are gone are
left out with them. What is kept violates the same property.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from kraftcheck.retracing.moves import run
from reference.sim.steered.failures import Failure
from reference.sim.steered.scripts import Script


class Minimised(NamedTuple):
    """attempts: how many schedules were tried."""

    script: Script
    failure: Failure
    attempts: int


def minimised(
    script: Script, attempts: int = 2000, told: Callable[[int], None] | None = None
) -> Minimised:
    """The smallest schedule found within so many attempts. told: hears of each.

    Raises ValueError: the moves violate nothing on their way; as `replaying.begin` does.
    """
    search = _Search(script, attempts, told)
    while search.shortened():
        pass
    best = replace(script, moves=search.moves, violates=search.failure.name)
    return Minimised(best, search.failure, search.attempts)


class _Search:
    def __init__(self, script: Script, limit: int, told: Callable[[int], None] | None) -> None:
        self._script = script
        self._limit = limit
        self._told = told
        self.attempts = 0
        self.moves, failure = run(script, script.moves)
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
        kept, failure = run(self._script, moves)
        if failure is None or failure.name != self.failure.name:
            return False
        self.moves, self.failure = kept, failure
        return True
