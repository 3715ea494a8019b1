"""What a join of a composition leads to comes of a step of the other component, in turn, once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kraftcheck.reference.kit.protocol import Join
from kraftcheck.traces.steps import check
from kraftcheck.traces.steps.symmetry import Step


class Done(NamedTuple):
    """A step of the first component, which has the second begin something."""

    number: int


class Begin(NamedTuple):
    """What comes by the join alone."""

    number: int


def leads(node: int, before: Any, input: Any, outcome: Any) -> list[tuple[int, Any]]:
    return [(node, Begin(input.number))] if isinstance(input, Done) else []


JOIN = Join("what is done begins", of="first", to="second", inputs=(Begin,), leads=leads)
COMPOSITION: Any = SimpleNamespace(parts={"first": None, "second": None}, joins=(JOIN,))
FIRST, SECOND = 0, 1


def wrong(*steps: tuple[int, Any]) -> list[int]:
    """Where a run of steps (component, input) is wrong first, if it is."""
    count = len(steps)
    part: Any = SimpleNamespace(
        occurrences_of=lambda run: range(count),
        taken=range(count),
        component=[component for component, _ in steps],
        node=[1] * count,
        action=["Handle"] * count,
        input=range(count),
        inputs=[input for _, input in steps],
        step=lambda at: Step("Handle", 1, None, steps[at][1], None, (), ""),
    )
    turn = check._of_joins(part, COMPOSITION)
    return [each.at for each in check._first(part, 0, turn, "which is not due")]


@pytest.mark.parametrize(
    ("steps", "at"),
    [
        ([(FIRST, Done(1)), (SECOND, Begin(1))], []),
        ([(FIRST, Done(1)), (FIRST, Done(2)), (SECOND, Begin(2))], []),
        ([(SECOND, Begin(1))], [0]),
        ([(SECOND, Begin(1)), (FIRST, Done(1))], [0]),
        ([(FIRST, Done(1)), (SECOND, Begin(2))], [1]),
        ([(FIRST, Done(1)), (SECOND, Begin(1)), (SECOND, Begin(1))], [2]),
        ([(FIRST, Done(1)), (FIRST, Done(2)), (SECOND, Begin(2)), (SECOND, Begin(1))], [3]),
        # Only the second component is led to anything, and only by the first.
        ([(FIRST, Begin(1)), (SECOND, Done(1)), (SECOND, Begin(1))], [2]),
    ],
)
def test_what_comes_was_due(steps: list[tuple[int, Any]], at: list[int]) -> None:
    assert wrong(*steps) == at
