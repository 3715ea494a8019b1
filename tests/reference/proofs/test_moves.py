"""Moves in a row make what they make one by one; only moves that are named are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import z3

from reference.proofs.moves import Done, chosen, in_a_row
from reference.proofs.unrolled import Move

A, B = z3.Ints("a b")


def test_a_later_move_sees_what_the_earlier_ones_made() -> None:
    grows = Move(A < 5, {"a": A + 1}, Done("Grows", 0))
    copies = Move(A > 3, {"b": A + B}, Done("Copies", 0))
    both = in_a_row(Done("Both", 0), grows, copies, grows)
    assert both.about == Done("Both", 0) and set(both.updates) == {"a", "b"}
    wrong = z3.Or(
        both.guard != z3.And(A < 5, A + 1 > 3, A + 1 < 5),
        both.updates["a"] != A + 2,
        both.updates["b"] != A + 1 + B,
    )
    solver = z3.Solver()
    solver.add(wrong)
    assert solver.check() == z3.unsat


def test_one_move_in_a_row_is_that_move_by_another_name() -> None:
    grows = Move(A < 5, {"a": A + 1}, Done("Grows", 0))
    alone = in_a_row(Done("Alone", 0), grows)
    assert alone.about == Done("Alone", 0) and alone.guard.eq(grows.guard)
    assert alone.updates == grows.updates


def test_only_moves_that_are_named_are_made() -> None:
    made: list[str] = []

    def makers() -> Iterator[tuple[Done, Callable[[], Move]]]:
        for done in (Done("Fetches", 0, 1), Done("Fetches", 1, 0), Done("Elects", -2)):

            def make(done: Done = done) -> Move:
                made.append(str(done))
                return Move(A < 5, {}, done)

            yield done, make

    found = chosen(makers(), ("Fetches 1 0", "Elects"))
    assert [str(move.about) for move in found] == made == ["Fetches 1 0", "Elects"]
    assert len(chosen(makers(), ())) == 3
