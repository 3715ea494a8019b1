"""What is on symbols is a value exactly if all that is compared is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
import pytest
import z3

from kraftcheck.reference.proofs.symbolic import Choice, Log, NodeSet, Number, Truth
from kraftcheck.reference.quorum.messages import Append, BeginQuorumEpochRequest, VoteRequest
from tests.reference.proofs.local_steps import (
    Compared,
    Comparison,
    LocalStep,
    by_input,
    differences,
)

A, B = z3.Ints("a b")
P, Q = z3.Bools("p q")
WORDS: Final = ("one", "two")
ALL: Final = Comparison({})


class Pair(msgspec.Struct, frozen=True):
    first: Any
    second: Any


def only(term: z3.BoolRef, values: Mapping[z3.ExprRef, Any]) -> bool:
    """Whether the term says that symbols have these values, no more and no less."""
    solver = z3.Solver()
    solver.add(term != z3.And([symbol == value for symbol, value in values.items()]))
    return bool(solver.check() == z3.unsat)


@pytest.mark.parametrize(
    ("symbol", "value", "values"),
    [
        (Number(A), 3, {A: 3}),
        (Truth(P), True, {P: True}),
        (Choice(A, WORDS), "two", {A: 1}),
        (NodeSet({0: P, 1: Q}), (1,), {P: False, Q: True}),
        ((Number(A), 2, Number(B)), (1, 2, 3), {A: 1, B: 3}),
        (Pair(Number(A), Pair(Truth(P), "it")), Pair(7, Pair(False, "it")), {A: 7, P: False}),
    ],
)
def test_a_symbol_is_a_value_and_no_other(
    symbol: Any, value: Any, values: Mapping[z3.ExprRef, Any]
) -> None:
    assert only(ALL.same(symbol, value), values)


@pytest.mark.parametrize(
    ("symbol", "value"),
    [
        ((Number(A),), (1, 2)),
        (Pair(Number(A), "it"), Pair(1, "else")),
        (VoteRequest(0, 1, 3, 0, 0, pre_vote=False), BeginQuorumEpochRequest(0, 1, 3)),
    ],
)
def test_what_is_of_another_shape_is_never_the_same(symbol: Any, value: Any) -> None:
    assert z3.is_false(z3.simplify(ALL.same(symbol, value)))


def test_steps_of_one_input_are_together_and_no_step_is_there_twice() -> None:
    step = LocalStep("Acts", 0, "row", "input", "after", ())
    other, elsewhere = step._replace(sent=("m",)), step._replace(node=1)
    assert by_input([step, elsewhere, other, step]) == [[step, other], [elsewhere]]
    assert step.told == "Acts of 0 in row at input"


class _Made:
    """A relation that makes these steps; at the row "loose" it makes others, too."""

    def __init__(self, *made: LocalStep) -> None:
        self.made = made

    def has(self, step: LocalStep) -> bool:
        return bool(step.input != "no symbol")

    def solutions(self, group: Sequence[LocalStep]) -> tuple[list[LocalStep], bool]:
        return [step for step in group if step in self.made], group[0].before == "loose"


def test_steps_that_are_not_made_are_missing_and_what_else_is_made_is_spare() -> None:
    step = LocalStep("Acts", 0, "row", "input", "after", ())
    lost, loose = step._replace(after="else"), step._replace(before="loose")
    unknown = step._replace(input="no symbol")
    compared = differences(_Made(step, loose), [step, lost, loose, unknown, step])
    assert compared == Compared(3, 1, [lost.told], [loose.told])


def test_what_a_relation_has_or_leaves_out_is_told() -> None:
    longer = Comparison({Log: lambda symbol, value: symbol.length.term == len(value)})
    assert only(longer.same((Log(Number(A), Number(B)),), ("xy",)), {A: 2})
    added: Any = Number(A)
    assert only(ALL.same(Append(added), Append(4)), {A: 4})
    assert only(Comparison({}, left_out={Append: ("value",)}).same(Append(added), Append(4)), {})
    fields = Comparison({}, fields={"first": lambda symbol, value: symbol.term >= value})
    solver = z3.Solver()
    solver.add(fields.same(Pair(Number(A), Number(B)), Pair(5, 6)) != z3.And(A >= 5, B == 6))
    assert solver.check() == z3.unsat
