"""Questions about integers and the same about bits have the same answers."""

from __future__ import annotations

import pytest
import z3

from reference.proofs.finite import Finite, bit_solver
from reference.proofs.unrolled import Move, Unrolled, shortest

A, B, P = z3.Int("a"), z3.Int("b"), z3.Bool("p")
TERMS = (
    A + B - 1 > 2 * A,
    z3.If(P, A, -B) <= B,
    z3.And(z3.Distinct(A, B), z3.Implies(P, A < B), z3.Xor(P, A >= 0)),
    z3.PbEq([(P, 1), (A == B, 1)], 1),
)


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_a_term_is_true_of_the_same_numbers(term: z3.BoolRef) -> None:
    finite = Finite(5)
    bits = finite.of(term)
    for a in range(-3, 4):
        for b in range(-3, 4):
            for p in (False, True):
                wanted = z3.simplify(
                    z3.substitute(term, (A, z3.IntVal(a)), (B, z3.IntVal(b)), (P, z3.BoolVal(p)))
                )
                given = z3.simplify(
                    z3.substitute(
                        bits,
                        (finite.of(A), finite.of(z3.IntVal(a))),
                        (finite.of(B), finite.of(z3.IntVal(b))),
                        (P, z3.BoolVal(p)),
                    )
                )
                assert z3.is_true(wanted) == z3.is_true(given), (a, b, p)


def test_what_has_no_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="no bit vector for div"):
        Finite(5).of(A / B == 1)
    with pytest.raises(ValueError, match="99 does not fit into 5 bits"):
        Finite(5).of(z3.IntVal(99))


def test_numbers_keep_away_from_where_they_would_wrap_around() -> None:
    finite = Finite(4)
    solver = bit_solver()
    solver.add(finite.within([A]), finite.of(A + 1 < A))
    assert solver.check() == z3.unsat


def counter(step: int) -> Unrolled:
    """A number that grows by a step, or falls to zero."""
    moves = [
        Move(A < 5, {"a": A + step}, "grows"),
        Move(z3.And(A > 0, B == 1), {"a": z3.IntVal(0)}, "falls"),
    ]
    return Unrolled({"a": z3.IntVal(0)}, moves)


def test_the_shortest_run_is_found_with_its_moves_and_values() -> None:
    unrolled = counter(2)
    answer, depth = shortest(unrolled, lambda u: u.at(u.depth)["a"] == 4, 5, 60)
    assert answer.model is not None and depth == 2
    assert [move.about for move in unrolled.taken(answer.model)] == ["grows", "grows"]
    assert [unrolled.value(answer.model, step, A) for step in range(3)] == [0, 2, 4]
    # What is not a variable is an input of a step.
    fallen = counter(2)
    answer, depth = shortest(fallen, lambda u: z3.And(u.at(u.depth)["a"] == 0, u.depth > 0), 5, 60)
    assert answer.model is not None and depth == 2
    assert fallen.value(answer.model, 1, B) == 1


def test_what_is_not_reached_is_none() -> None:
    answer, depth = shortest(counter(2), lambda u: u.at(u.depth)["a"] == 3, 4, 60)
    assert answer.model is None and not answer.reason and depth == 4
