"""A walk is driven as far as the reference is where the model is, and no move further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kraftcheck.traces.cover.driving import drive
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.rulebook import Result
from tests.traces.cover.graphs import matched
from tla_utils.covering import cover_edges

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]

Spoil = Callable[[Matcher, Result], Result | None]


def walks_of(matcher: Matcher) -> list[list[int]]:
    moves = matcher.moves
    start = matcher.dump.initial[0]
    return [[*w] for w in cover_edges(len(matcher.states), moves.source, moves.target, start).walks]


def spoiled(matcher: Matcher, move: int, spoil: Spoil) -> None:
    """From now on the handler call of this move has another outcome, or none."""
    step = matcher.moves.steps[matcher.moves.step[move]]
    outcomes = matcher.book.outcomes

    def changed(node: int, row: Any, input: Any) -> list[Result]:
        found = list(outcomes(node, row, input))
        if (node, row, input) == (step.node, step.before, step.input):
            other = spoil(matcher, found[step.choice])
            found[step.choice :] = [] if other is None else [other]
        return found

    matcher.book.outcomes = changed  # type: ignore[method-assign]


def row_kept(matcher: Matcher, result: Result) -> Result:
    """The row of another step."""
    row = next(s.result.row for s in matcher.moves.steps if s.result.row != result.row)
    return result._replace(row=row)


def too_much(matcher: Matcher, result: Result) -> Result:
    message = next(m for m in reversed(matcher.messages) if m not in result.sent)
    return result._replace(sent=(*result.sent, message))


def too_little(matcher: Matcher, result: Result) -> Result:
    return result._replace(sent=())


def disabled(matcher: Matcher, result: Result) -> None:
    return None


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (row_kept, "the row is not the model's"),
        (too_much, "the model sends no "),
        (too_little, "the model sends more than the reference"),
        (disabled, "the reference finds the move disabled"),
    ],
)
def test_a_walk_is_driven_up_to_the_move_that_differs(spoil: Spoil, told: str) -> None:
    matcher = matched("quorum-few-votes")
    walk = max(walks_of(matcher), key=len)
    seen: set[int] = set()
    at = 0
    for at, move in enumerate(walk):
        step = matcher.moves.steps[matcher.moves.step[move]]
        if at > 1 and step.result.sent and matcher.moves.step[move] not in seen:
            break
        seen.add(matcher.moves.step[move])
    spoiled(matcher, walk[at], spoil)
    driven = drive(matcher, [walk])
    (mismatch,) = driven.mismatches
    assert (driven.walks, driven.moves, driven.edges) == (1, at, len(set(walk[:at])))
    assert mismatch.told.startswith(told)
    assert (mismatch.kind, mismatch.state) == ("differs", matcher.moves.source[walk[at]])


def test_a_message_that_was_never_sent_is_not_delivered() -> None:
    matcher = matched("quorum-few-votes")
    delivered = next(
        edge
        for edge, step in enumerate(matcher.moves.step)
        if matcher.moves.steps[step].input in matcher.messages
    )
    driven = drive(matcher, [[delivered]])
    assert [m.told for m in driven.mismatches] == ["the message was never sent"]
    assert driven.moves == driven.edges == 0


def test_the_walks_behind_one_that_differs_are_driven() -> None:
    matcher = matched("quorum-few-votes")
    walk, last = max(walks_of(matcher), key=len), len(matcher.moves.step) - 1
    driven = drive(matcher, [[last], walk, [last], walk])
    assert (driven.walks, driven.moves, driven.edges) == (4, 2 * len(walk), len(set(walk)))
    assert len(driven.mismatches) == 2


def test_a_shared_log_that_is_not_the_models_is_told() -> None:
    matcher = matched("partition-isr")
    book = matcher.book
    split = book.split
    book.split = lambda sent: (split(sent)[0], ())  # type: ignore[method-assign]
    grows = next(
        edge
        for edge, source in enumerate(matcher.moves.source)
        if matcher.states[matcher.moves.target[edge]][3] != matcher.states[source][3]
    )
    walk = next(walk for walk in walks_of(matcher) if grows in walk)
    driven = drive(matcher, [walk])
    assert [mismatch.told for mismatch in driven.mismatches] == [
        "the shared log is not the model's"
    ]
    assert driven.moves == walk.index(grows)
