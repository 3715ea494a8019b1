"""Paths of code on symbols: they cover everything, once."""

from __future__ import annotations

import pytest
import z3

from kraftcheck.reference.proofs.symbolic import NodeSet, Number, Truth, fresh, paths, summary


def test_the_paths_of_a_branch_are_disjoint_and_cover_everything() -> None:
    x = Number(z3.Int("x"))

    def sign() -> str:
        if x > 0:
            return "up"
        return "zero" if x == 0 else "down"

    found = paths(sign)
    assert sorted(path.result for path in found) == ["down", "up", "zero"]
    conditions = [z3.And(path.condition) for path in found]
    solver = z3.Solver()
    assert solver.check(z3.Not(z3.Or(conditions))) == z3.unsat
    assert solver.check(z3.And(conditions[0], conditions[1])) == z3.unsat


def test_impossible_ways_are_not_taken() -> None:
    x = Number(z3.Int("x"))
    assert len(paths(lambda: x > 3 and x > 2)) == 2
    assert [p.result for p in paths(lambda: bool(x == 1), [x.term == 1])] == [True]


def test_sets_fork_voter_by_voter_and_summaries_do_not() -> None:
    nodes = NodeSet({v: z3.Bool(f"in{v}") for v in range(3)})
    assert len(paths(lambda: len(nodes))) == 8
    term = summary(lambda: len(nodes) >= 2)
    bits = list(nodes.bits.values())
    solver = z3.Solver()
    assert solver.check(term.term != z3.PbGe([(b, 1) for b in bits], 2)) == z3.unsat
    assert len(paths(lambda: bool(term))) == 2


def test_a_voter_is_looked_up_once_for_each_that_it_may_be() -> None:
    table = {0: "a", 1: "b"}
    node = Number(z3.Int("node"))
    within = [z3.Or(node.term == 0, node.term == 1)]
    found = paths(lambda: table[node], within, (0, 1))  # type: ignore[index]
    assert sorted(path.result for path in found) == ["a", "b"]
    with pytest.raises(AssertionError, match="no voter"):
        paths(lambda: table[node], [node.term == 7], (0, 1))  # type: ignore[index]


def test_symbols_of_a_path_are_its_own() -> None:
    (path,) = paths(lambda: (fresh("x"), fresh("x")))
    assert str(path.result[0].term) != str(path.result[1].term)
    assert isinstance(Truth(z3.BoolVal(True)) == True, Truth)  # noqa: E712
