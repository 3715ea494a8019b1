"""Questions about numbers of a fixed width, for bounded searches.

In so many steps from the first state no epoch, offset or length can be large. So a question about
integers is put to the solver as one about short bit vectors, which it answers by search over bits:
for unrolled relations that is faster by orders of magnitude than arithmetic. Numbers are signed
(`NOBODY` and `UNDEFINED` are -1); a search keeps its variables within `spare` of the limits, so
that no sum of two small steps wraps around.

Law of this file: it loses solutions or keeps them, and never makes one up that matters: what is
found is run again on the handlers. "None" means none with numbers of this width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import z3

_KEPT: Final = frozenset(
    {
        *(z3.Z3_OP_TRUE, z3.Z3_OP_FALSE, z3.Z3_OP_AND, z3.Z3_OP_OR, z3.Z3_OP_NOT),
        *(z3.Z3_OP_IMPLIES, z3.Z3_OP_XOR, z3.Z3_OP_IFF),
        *(z3.Z3_OP_PB_LE, z3.Z3_OP_PB_GE, z3.Z3_OP_PB_EQ),
        *(z3.Z3_OP_PB_AT_MOST, z3.Z3_OP_PB_AT_LEAST),
    }
)
"""Operators whose parts are truth values: they stay as they are."""

_OPERATORS: Final[dict[int, Callable[..., Any]]] = {
    z3.Z3_OP_ADD: lambda *parts: reduce(lambda a, b: a + b, parts),
    z3.Z3_OP_SUB: lambda *parts: reduce(lambda a, b: a - b, parts),
    z3.Z3_OP_UMINUS: lambda part: -part,
    z3.Z3_OP_MUL: lambda *parts: reduce(lambda a, b: a * b, parts),
    z3.Z3_OP_LE: lambda a, b: a <= b,
    z3.Z3_OP_LT: lambda a, b: a < b,
    z3.Z3_OP_GE: lambda a, b: a >= b,
    z3.Z3_OP_GT: lambda a, b: a > b,
    z3.Z3_OP_EQ: lambda a, b: a == b,
    z3.Z3_OP_DISTINCT: z3.Distinct,
    z3.Z3_OP_ITE: z3.If,
}
"""Operators on numbers, of which Python's on bit vectors are the signed ones."""


class Finite:
    """Terms about integers as terms about bit vectors; equal terms are put over once."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.limit = (1 << (width - 1)) - 1
        self._known: dict[int, z3.ExprRef] = {}
        # Terms are kept so that their identity is not given to another.
        self._kept: list[z3.ExprRef] = []

    def of(self, term: z3.ExprRef) -> Any:
        """The term about bit vectors. Raises ValueError for an operator that has none here, and
        for a constant that is too large.
        """
        waiting = [term]
        while waiting:
            at = waiting[-1]
            if at.get_id() in self._known:
                waiting.pop()
                continue
            missing = [part for part in at.children() if part.get_id() not in self._known]
            if missing:
                waiting += missing
                continue
            self._known[at.get_id()] = self._made(at)
            self._kept.append(at)
            waiting.pop()
        return self._known[term.get_id()]

    def _made(self, term: z3.ExprRef) -> Any:
        kind = term.decl().kind()
        parts = [self._known[part.get_id()] for part in term.children()]
        if z3.is_int_value(term):
            return self._constant(term.as_long())
        if z3.is_const(term) and kind == z3.Z3_OP_UNINTERPRETED:
            if z3.is_bool(term):
                return term
            return z3.BitVec(term.decl().name(), self.width)
        if kind in _KEPT:
            return term.decl()(*parts) if parts else term
        if kind in _OPERATORS:
            return _OPERATORS[kind](*parts)
        raise ValueError(f"no bit vector for {term.decl().name()}")

    def _constant(self, value: int) -> z3.BitVecRef:
        if not -self.limit <= value <= self.limit:
            raise ValueError(f"{value} does not fit into {self.width} bits")
        return z3.BitVecVal(value, self.width)

    def within(self, terms: Sequence[z3.ExprRef], spare: int = 2) -> z3.BoolRef:
        """That these numbers, of truth values nothing, are not near the limits."""
        bits = [self.of(term) for term in terms if not z3.is_bool(term)]
        return z3.And([z3.And(bit >= -spare, bit <= self.limit - spare) for bit in bits])


def bit_solver() -> z3.Solver:
    """A solver for such questions: everything becomes one question about truth values."""
    steps = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "simplify", "bit-blast")
    return z3.Then(*steps, "sat").solver()
