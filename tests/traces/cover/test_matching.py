"""TLC's graphs against the reference: they agree, and planted bugs are seen."""

from __future__ import annotations

from array import array
from collections import Counter
from copy import copy
from dataclasses import replace

import pytest

from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import CONTROLLER_HANDLERS
from kraftcheck.reference.quorum.bugs import Z13VoteForgotten
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import VoteRequest
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Row
from kraftcheck.traces.cover.driving import drive, way_to
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import read_covers, rule_book
from kraftcheck.traces.cover.rulebook import Result
from tests.traces.cover.graphs import assert_driven, dumped, matched
from tla_utils import ToolError

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("quorum-few-votes", "quorum-handover", "quorum-retries"),
        *("partition-isr", "partition-crash"),
    ],
)
def test_every_edge_is_driven_in_the_fewest_moves(name: str) -> None:
    matcher = matched(name)
    assert_driven(matcher)
    assert read_covers()[name].edges == len(matcher.dump.source)


def test_a_bug_is_a_mismatch() -> None:
    matcher = matched("quorum-few-votes", Z13VoteForgotten)
    kinds = {mismatch.kind for mismatch in matcher.mismatches}
    assert kinds == {"not allowed", "not done"}
    assert way_to(matcher, matcher.mismatches[0].state)


def rewired(edges: list[int]) -> Matcher:
    """A graph whose dump has these of its edges, explored."""
    dump = dumped("quorum-few-votes").dump
    source, label, target = (
        array(column.typecode, [column[edge] for edge in edges])
        for column in (dump.source, dump.label, dump.target)
    )
    book = matched("quorum-few-votes").book
    matcher = Matcher(replace(dump, source=source, label=label, target=target), book)
    matcher.explore()
    return matcher


def test_edges_are_compared_as_often_as_they_stand() -> None:
    """Several messages may take a state to the same other one by the same action."""
    dump = dumped("quorum-few-votes").dump
    keys = [*zip(dump.source, dump.label, dump.target, strict=True)]
    counts = Counter(keys)
    twice = next(at for at, key in enumerate(keys) if counts[key] == 2)
    every = list(range(len(keys)))
    assert rewired(every).mismatches == []
    (missing,) = rewired([edge for edge in every if edge != twice]).mismatches
    assert (missing.kind, missing.state) == ("not allowed", dump.source[twice])
    (more,) = rewired([*every, twice]).mismatches
    assert (more.kind, more.state) == ("not done", dump.source[twice])
    assert more.told == f"no move makes 1 edges of the model to state {dump.target[twice]}"
    assert len(rewired([*every, twice, twice, every[0]]).mismatches) == 2


def test_the_longest_log_is_one_that_the_reference_reaches() -> None:
    matcher = matched("partition-isr")
    logs = {log for *_, log in matcher.states}
    longest = tuple(map(matcher.record_piece, matcher.longest_log()))
    assert longest in logs and len(longest) == max(map(len, logs)) > 1
    for piece in {log[-1] for log in logs if len(log) == len(longest)}:
        del matcher.records[piece]
    assert 0 < len(matcher.longest_log()) < len(longest)


class _Extra(QuorumRules):
    """A candidate grants its vote to others too."""

    __slots__ = ()

    def vote_granted(self, row: Row, m: VoteRequest) -> bool:
        return super().vote_granted(row, m) or row.role == "Candidate"


def test_a_move_that_the_model_forbids_is_told_with_what_it_does() -> None:
    matcher = matched("quorum-few-votes", _Extra)
    (first, *_) = matcher.mismatches
    assert first.kind == "not allowed" and "granted=True" in first.told


def test_a_walk_that_leaves_the_model_is_told() -> None:
    matcher = matched("quorum-few-votes")
    edge = next(
        edge
        for edge, target in enumerate(matcher.moves.target)
        if target != matcher.moves.source[edge]
    )
    step = matcher.moves.steps[matcher.moves.step[edge]]
    wrong = step.result._replace(row=step.before)
    outcomes = matcher.book.outcomes

    def forgetful(node: int, row: Row, input: object) -> list[Result]:
        return [
            wrong if (node, row, input) == (step.node, step.before, step.input) else r
            for r in outcomes(node, row, input)
        ]

    matcher.book.outcomes = forgetful  # type: ignore[method-assign]
    (mismatch,) = drive(matcher, [[edge]]).mismatches
    assert mismatch.kind == "differs" and mismatch.told == "the row is not the model's"
    driven = drive(matcher, [[len(matcher.moves.step) - 1]])
    assert driven.mismatches[0].told in {
        "the message was never sent",
        "the reference finds the move disabled",
        "the row is not the model's",
    }


def test_a_label_without_a_handler_is_named() -> None:
    graph = dumped("quorum-handover")
    deaf = copy(graph.book)
    deaf.moves = graph.book.moves - {"HandleResign"}
    with pytest.raises(ToolError, match="Move_HandleResign"):
        Matcher(graph.dump, deaf)


def test_the_graphs_together_have_every_action() -> None:
    taken: dict[str, set[str]] = {}
    for model in read_covers().values():
        taken.setdefault(model.protocol, set()).update(rule_book(model).moves)
    assert taken["quorum"] == set(HANDLERS.values())
    assert taken["partition"] == {*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values()}
