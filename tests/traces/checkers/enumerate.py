"""Is a tiny history linearizable? Every order is tried: the checker that the others answer to.

The definition, spelled out [Herlihy and Wing 1990]: choose which of the indeterminate operations
took effect; put all that did in a sequence; refuse the sequence if one operation comes before
another that had completed before it was invoked; step the model through it. Nothing is remembered,
shared or skipped, so the time is factorial: up to OPERATIONS_MAX operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, permutations
from typing import Final

from kraftcheck.traces.checkers.sequential import REFUSED, Model
from kraftcheck.traces.history import INDETERMINATE, Operation

OPERATIONS_MAX: Final = 7


def linearization(operations: Sequence[Operation], model: Model) -> tuple[Operation, ...] | None:
    """The first linearization in the order of permutations; None if there is none.

    Raises ValueError: no operation, or more than OPERATIONS_MAX that say anything.
    """
    if not operations:
        raise ValueError("an empty history is no history")
    judged = [each for each in operations if model.judges(each)]
    if len(judged) > OPERATIONS_MAX:
        raise ValueError(f"{len(judged)} operations are too many to try every order")
    certain = [each for each in judged if each.outcome != INDETERMINATE]
    uncertain = [each for each in judged if each.outcome == INDETERMINATE]
    subsets = chain.from_iterable(
        combinations(uncertain, size) for size in range(len(uncertain) + 1)
    )
    for effective in subsets:
        for order in permutations([*certain, *effective]):
            if in_real_time(order) and replays(order, model):
                return order
    return None


def in_real_time(order: Sequence[Operation]) -> bool:
    """No operation had completed before one that stands ahead of it was invoked."""
    return not any(precedes(later, earlier) for earlier, later in combinations(order, 2))


def precedes(first: Operation, second: Operation) -> bool:
    """Whether `first` had completed before `second` was invoked. At equal times it had not."""
    if first.outcome == INDETERMINATE or first.completed is None:
        return False
    return first.completed < second.invoked


def replays(order: Sequence[Operation], model: Model) -> bool:
    """Whether the model can answer all of them as they were answered, one after the other."""
    state = model.initial()
    for operation in order:
        state = model.step(state, operation)
        if state is REFUSED:
            return False
    return True
