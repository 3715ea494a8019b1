"""Moves of a protocol for bounded searches: what they are called, and several of them as one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import z3

from reference.core.types import NOBODY
from reference.proofs.terms import symbol_like
from reference.proofs.unrolled import Move


class Done(NamedTuple):
    """What a move is: its name, who acts, and who else has a part in it."""

    name: str
    node: int
    peer: int = NOBODY

    def __str__(self) -> str:
        who = [each for each in (self.node, self.peer) if each >= 0]
        return " ".join([self.name, *map(str, who)])


def chosen(makers: Iterable[tuple[Done, Callable[[], Move]]], names: Collection[str]) -> list[Move]:
    """The moves of these names, or "Fetches 0 1" for those of two nodes only; all if there are no
    names. Others are not made.
    """
    return [
        make() for done, make in makers if not names or done.name in names or str(done) in names
    ]


def in_a_row(about: Done, *moves: Move) -> Move:
    """Moves one after the other at once, as one."""
    move, *rest = moves
    for later in rest:
        move = _then(move, later)
    return Move(move.guard, move.updates, about)


def _then(first: Move, second: Move) -> Move:
    """Two moves; what the second sees is what the first has made."""
    pairs = [(symbol_like(name, term), term) for name, term in first.updates.items()]
    later = {name: z3.substitute(t, *pairs) for name, t in second.updates.items()}
    guard = z3.And(first.guard, z3.substitute(second.guard, *pairs))
    return Move(guard, {**first.updates, **later}, first.about)
