"""What is in a term of Z3, and what a model says of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3


def symbols_in(*terms: z3.ExprRef) -> dict[str, z3.ExprRef]:
    """The symbols in these terms by their names."""
    found: dict[str, z3.ExprRef] = {}
    waiting, seen = list(terms), set[int]()
    while waiting:
        at = waiting.pop()
        if at.get_id() in seen:
            continue
        seen.add(at.get_id())
        if z3.is_const(at) and at.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[at.decl().name()] = at
        waiting += at.children()
    return found


def values_in(model: z3.ModelRef) -> Callable[[z3.ExprRef], Any]:
    """What terms are in a model: int or bool. What the model leaves open has some value."""

    def value(term: z3.ExprRef) -> Any:
        found = model.eval(term, model_completion=True)
        return z3.is_true(found) if z3.is_bool(found) else found.as_long()

    return value
