"""Hunts: the first run in which each oracle finds a bug, in the order of their numbers.

Law of this file: every run up to the limit is looked at by every oracle asked, so that a witness is
the first there is, and none is a statement about all of them. What an oracle finds counts only
where it is the bug's doing: where the run is another than the one that the same seed makes of the
correct protocol, and the same oracle finds nothing in that one.

The step relation is asked about departures alone (traces/counterexamples/departures.py). TLC's
start is what a question costs, so it is asked of several hunts side by side: every hunt that has
not found the bug puts the departures of its next suspicious runs, one run of each first, then two,
four, eight. What comes out for a hunt is what it would find alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from kraftcheck.known_bugs import oracles
from kraftcheck.known_bugs.oracles import FOUND, STEPS, Oracle
from kraftcheck.known_bugs.runs import differs, record_batch, record_numbers
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED, Hunt, Witness
from kraftcheck.reference.runner.run import forget
from kraftcheck.traces.counterexamples.departures import departures
from kraftcheck.traces.jobs.allowed import Allowed

BATCH = 100
"""So many runs are judged at once."""


def hunt_down(hunt: Hunt, wanted: Collection[str], limit: int) -> dict[str, Witness]:
    """The witnesses that the first `limit` runs hold, by oracle."""
    found: dict[str, Witness] = {}
    for first in range(0, limit, BATCH):
        missing = [oracle for oracle in wanted if oracle not in (*found, STEPS)]
        if not missing:
            break
        numbers = range(first, min(first + BATCH, limit))
        if "invariants" in missing:
            _watched(hunt, numbers, found)
        _unwatched(hunt, numbers, missing, found)
        forget()
    if STEPS in wanted:

        def decided(_: Hunt, number: int | None) -> None:
            if number is not None:
                found[STEPS] = Witness(seed=hunt.seed, run=number)

        with TemporaryDirectory(prefix="hunt-") as folder:
            first_refused([hunt], limit, Allowed(Path(folder)), decided)
    return found


def _watched(hunt: Hunt, numbers: range, found: dict[str, Witness]) -> None:
    for number in numbers:
        violated = hunt.run(WATCHED, number).result.violations
        if violated and is_the_bugs(hunt, "invariants", number):
            found["invariants"] = Witness(seed=hunt.seed, run=number)
            return


def _unwatched(
    hunt: Hunt, numbers: range, missing: Collection[str], found: dict[str, Witness]
) -> None:
    both: tuple[Oracle, ...] = ("histories", "progress")
    asked = [oracle for oracle in both if oracle in missing]
    if not asked:
        return
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_batch(Path(folder) / UNWATCHED, hunt, UNWATCHED, numbers[0], len(numbers))
        for oracle in asked:
            opinion = oracles.judge(oracle, place)
            own = (n for n in sorted(opinion.found_runs) if is_the_bugs(hunt, oracle, n))
            number = next(own, None)
            if number is not None:
                found[oracle] = Witness(seed=hunt.seed, run=number)


def is_the_bugs(hunt: Hunt, oracle: Oracle, number: int) -> bool:
    """Whether what an oracle finds in a run comes from the bug: see the law above."""
    if not differs(hunt, number):
        return False
    twin = msgspec.structs.replace(hunt, bug=None)
    if oracle == "invariants":
        return not twin.run(WATCHED, number).result.violations
    with TemporaryDirectory(prefix="hunt-") as folder:
        place = record_numbers(Path(folder), twin, UNWATCHED, [number])
        return oracles.judge(oracle, place).verdict != FOUND


# -- The step relation

Decided = Callable[[Hunt, int | None], None]


class _Campaign:
    """One of them. suspects: runs with departures that wait for verdicts, by number."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt = hunt
        self.next = 0
        self.suspects: dict[int, list[bytes]] = {}
        self.found: int | None = None

    def advance(self, wanted: int, limit: int, allowed: Allowed) -> None:
        """Take runs until so many are suspicious, or one is known to be refused."""
        while self.next < limit and len(self.suspects) < wanted:
            number, self.next = self.next, self.next + 1
            run = self.hunt.run(WATCHED, number)
            constants: Any = run.result.constants
            named = (allowed.name(constants, step) for step in departures(run))
            keys = [key for key in named if key is not None and allowed.refuses(key) is not False]
            if keys:
                self.suspects[number] = keys
            if any(map(allowed.refuses, keys)):
                return

    def conclude(self, allowed: Allowed) -> None:
        """Every verdict is known: is one of them it?"""
        for number, keys in self.suspects.items():
            if any(map(allowed.refuses, keys)):
                self.found = number
                break
        self.suspects = {}


def first_refused(
    hunts: Sequence[Hunt],
    limit: int,
    allowed: Allowed,
    decided: Decided,
    goes_on: Callable[[], bool] = lambda: True,
) -> bool:
    """The first run of each hunt, of the `limit` first, that holds a refused step.

    decided: called with (hunt, number of that run; None: there is none) as soon as it is known.
    goes_on: asked before each round. Returns whether all are decided.
    Raises ToolError, TraceError: TLC or the store of verdicts cannot be used.
    """
    undecided = [_Campaign(hunt) for hunt in hunts]
    wanted = 1
    while undecided:
        if not goes_on():
            return False
        for campaign in undecided:
            campaign.advance(wanted, limit, allowed)
        forget()
        allowed.ask()
        for campaign in undecided:
            campaign.conclude(allowed)
            if campaign.found is not None or campaign.next == limit:
                decided(campaign.hunt, campaign.found)
        undecided = [each for each in undecided if each.found is None and each.next < limit]
        wanted *= 2
    return True
