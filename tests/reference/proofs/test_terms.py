"""Symbols of terms by name, and what a model says of a term."""

from __future__ import annotations

import z3

from kraftcheck.reference.proofs.terms import values_in
from tests.reference.partition.proof.drift import symbols_in

A, P = z3.Int("a"), z3.Bool("p of 1")


def test_the_symbols_of_terms_are_found_once_and_by_name() -> None:
    function = z3.Function("f", z3.IntSort(), z3.IntSort())
    assert symbols_in(z3.And(P, function(A) < A + 1), A == 2) == {"a": A, "p of 1": P}
    assert symbols_in(z3.IntVal(3), z3.BoolVal(True)) == {} == symbols_in()


def test_a_model_says_something_of_every_term() -> None:
    solver = z3.Solver()
    solver.add(A == 4)
    assert solver.check() == z3.sat
    value = values_in(solver.model())
    assert (value(A), value(A - 6), value(A > 3), value(A < 3)) == (4, -2, True, False)
    assert isinstance(value(z3.Int("of which nothing is known")), int)
