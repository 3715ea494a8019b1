"""Campaigns of one bug, hunted side by side: what the step relation says of all of them at once.

TLC's start is what a question costs. So every campaign that has not found the bug puts the
departures (departures.py) of its next suspicious runs, and all of them are asked about together:
one run of each campaign first, then two, four, eight.

Law of this file: what comes out for a campaign is what it would find alone: the first of its runs
that holds a step which the correct spec refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kraftcheck.known_bugs.witnesses import WATCHED, Hunt
from kraftcheck.reference.runner.run import forget
from kraftcheck.traces.counterexamples.departures import Departures
from kraftcheck.traces.jobs.allowed import Allowed

Decided = Callable[[Hunt, int | None], None]


class _Campaign:
    """One of them. suspects: runs with departures that wait for verdicts, by number."""

    def __init__(self, hunt: Hunt) -> None:
        self.hunt = hunt
        self.next = 0
        self.suspects: dict[int, list[bytes]] = {}
        self.found: int | None = None

    def advance(self, wanted: int, limit: int, departures: Departures, allowed: Allowed) -> None:
        """Take runs until so many are suspicious, or one is known to be refused."""
        while self.next < limit and len(self.suspects) < wanted:
            number, self.next = self.next, self.next + 1
            run = self.hunt.run(WATCHED, number)
            constants: Any = run.result.constants
            named = (allowed.name(constants, step) for step in departures.of(run))
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
    departures = Departures()
    undecided = [_Campaign(hunt) for hunt in hunts]
    wanted = 1
    while undecided:
        if not goes_on():
            return False
        for campaign in undecided:
            campaign.advance(wanted, limit, departures, allowed)
        forget()
        allowed.ask()
        for campaign in undecided:
            campaign.conclude(allowed)
            if campaign.found is not None or campaign.next == limit:
                decided(campaign.hunt, campaign.found)
        undecided = [each for each in undecided if each.found is None and each.next < limit]
        wanted *= 2
    return True
