"""What a search over moves finds, run again on the handlers with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import z3

from reference.proofs.bounded import Found
from reference.proofs.moves import Done
from reference.proofs.unrolled import Unrolled, shortest


class Disabled(Exception):
    """The handlers do not do what the solver found."""


class Doing(Protocol):
    """Nodes that do moves with their handlers, from the first state."""

    def do(self, done: Done, keep: int) -> None:
        """One move; keep: where the log ends after a crash. Raises Disabled where the handlers do
        not do it.
        """

    def tell(self, done: Done) -> str:
        """A line on a move that was done and what came of it."""


D = TypeVar("D", bound=Doing)


def searched(
    unrolled: Unrolled,
    wanted: Callable[[Unrolled], z3.BoolRef],
    found: Found,
    timeout_s: float,
    least: int,
    begin: Callable[[z3.ModelRef], D],
) -> D | None:
    """Looks for the fewest moves that make `wanted` true, up to the bound of `found`, and has the
    handlers do them.

    found: gets the moves that were done as steps, and the reason if nothing is known. timeout_s:
    for all questions together. least: fewer moves are not looked for. begin: the nodes at first,
    with what the model says of their constants. Gives them after all moves; None if nothing was
    found, or if the handlers do not do it.
    """
    answer, _ = shortest(unrolled, wanted, found.bound, timeout_s, least)
    found.reason = answer.reason
    if answer.model is None:
        return None
    doing = begin(answer.model)
    for step, move in enumerate(unrolled.taken(answer.model)):
        keep = unrolled.value(answer.model, step, z3.Int("keep"))
        try:
            doing.do(move.about, keep)
        except Disabled as error:
            found.reason = f"step {step + 1}: {error}"
            return None
        found.length += 1
        found.steps.append(doing.tell(move.about))
    return doing
