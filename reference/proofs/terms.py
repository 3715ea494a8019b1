"""What a model of Z3 says of a term."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3


def values_in(model: z3.ModelRef) -> Callable[[z3.ExprRef], Any]:
    """What terms are in a model: int or bool. What the model leaves open has some value."""

    def value(term: z3.ExprRef) -> Any:
        found = model.eval(term, model_completion=True)
        return z3.is_true(found) if z3.is_bool(found) else found.as_long()

    return value
