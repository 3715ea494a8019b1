"""Moves by chance from where a path has come to: a random walk, and futures for `likelihood`.

A move is drawn among all that are possible, and is made or drawn anew according to its kind. A walk
is a function of the path and its number, so that the same click does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kraftcheck.explore.played import Played
from kraftcheck.reference.sim.choices import SeededChooser, Stream, chance, pick, run_seed
from kraftcheck.reference.steered.moves import Move

CHANCE: Final[Mapping[str, int]] = {"message": 1000, "own": 500, "client": 100, "fault": 60}
"""Of a thousand drawn moves of a kind, how many are made."""
CALM: Final[Mapping[str, int]] = {**CHANCE, "fault": 0}
"""Likewise, where nothing disturbs."""
TRIES: Final = 200
"""Draws for one move."""
ATTEMPTS, LENGTH = 8, 120
"""Walks that look for a role, and moves of each."""


def stream_of(played: Played, number: int = 0) -> Stream:
    """The choices of a walk from here."""
    return SeededChooser(run_seed(len(played.moves), number)).stream("workload")


def drawn(played: Played, stream: Stream, weights: Mapping[str, int]) -> Move | None:
    """One of the moves; None: there is hardly one of a kind that has a weight."""
    possible = played.possible()
    for _ in range(TRIES if possible else 0):
        move = pick(stream, possible)
        if chance(stream, weights[played.offer(move.words).kind]):
            return move
    return None


def walk(
    played: Played,
    stream: Stream,
    most: int,
    weights: Mapping[str, int] = CHANCE,
    until: Callable[[Played], bool] = lambda played: False,
) -> bool:
    """Makes moves by chance, until the number is reached, a property is violated, or `until`.

    Returns:
        Whether `until` held.
    """
    for _ in range(most):
        move = drawn(played, stream, weights)
        if move is None:
            return False
        played.make_move(move)
        if until(played):
            return True
    return False


def walk_until(begin: Callable[[], Played], role: str) -> Played | None:
    """The shortest of some calm walks at whose end a node comes to be in this role; None: no walk.

    begin: makes the run from which each walk starts. role: a part of its name, in any case.
    """
    best: Played | None = None
    for number in range(ATTEMPTS):
        played = begin()
        most = LENGTH if best is None else len(best.moves) - len(played.moves) - 1
        before = _in_role(played, role)

        def reached(now: Played, before: frozenset[str] = before) -> bool:
            return bool(_in_role(now, role) - before)

        if walk(played, stream_of(played, number), most, CALM, reached):
            best = played
    return best


def _in_role(played: Played, role: str) -> frozenset[str]:
    return frozenset(
        name for name, known in played.roles().items() if role.lower() in known.lower()
    )
