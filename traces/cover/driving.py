"""Walks through the model's graph, driven through the reference by a scripted scheduler.

`matching.py` compares move by move, from states that it takes from the dump. Here nothing is taken
from the dump but the schedule: a walk begins with the reference's first rows and an empty network,
each move is made with the live rows and a message that is really in the network, and what the
reference then holds is compared with the state that the model is in: the row of the node, each sent
message, and at the end of the move the whole network and the log that nodes share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import NamedTuple

from kraftcheck.traces.cover.matching import ABSENT, Matcher, Mismatch, Step
from kraftcheck.traces.cover.rulebook import InputLike, RecordLike, RowLike, RuleBook, tell
from tla_utils.dump import shortest_ways


class Driven(NamedTuple):
    """walks, moves: how many were driven."""

    walks: int
    moves: int
    edges: int
    """Distinct edges among the moves."""
    mismatches: list[Mismatch]
    """Where a move ended elsewhere than the model; the rest of its walk is not driven."""
    seconds: float
    """Wall time."""


class Scheduler:
    """The live system: rows by node, every message that was sent, and the shared log."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self.rows: dict[int, RowLike] = dict(zip(book.nodes, book.initial(), strict=True))
        self.network: set[InputLike] = set()
        self.log: tuple[RecordLike, ...] = book.log

    def make(self, step: Step) -> tuple[InputLike, ...] | str:
        """Makes the move; the sent messages, or why it cannot be made."""
        if not self._book.available(step.input, self.network, self.log):
            return "the message was never sent"
        row = self.rows[step.node]
        results = self._book.outcomes(step.node, row, step.input)
        if step.choice >= len(results):
            return "the reference finds the move disabled"
        result = results[step.choice]
        self.rows[step.node] = result.row
        messages, records = self._book.split(result.sent)
        self.network.update(messages)
        self.log += records
        return messages


def drive(
    matcher: Matcher,
    walks: Sequence[Sequence[int]],
    progress: Callable[[int], None] = lambda done: None,
) -> Driven:
    """Drives every walk; each is a list of numbers of `matcher.moves`."""
    begin = monotonic()
    mismatches: list[Mismatch] = []
    taken: set[int] = set()
    moves = 0
    for number, walk in enumerate(walks):
        driven, mismatch = _walk(matcher, walk)
        taken.update(walk[:driven])
        moves += driven
        if mismatch is not None:
            mismatches.append(mismatch)
        if number % 256 == 0:
            progress(len(taken))
    progress(len(taken))
    return Driven(len(walks), moves, len(taken), mismatches, monotonic() - begin)


def _walk(matcher: Matcher, walk: Iterable[int]) -> tuple[int, Mismatch | None]:
    """How many moves of a walk ended where the model is, and the first that did not."""
    scheduler = Scheduler(matcher.book)
    nodes = matcher.book.nodes
    moves, states = matcher.moves, matcher.states
    mask = 0
    driven = 0
    for move in walk:
        step = moves.steps[moves.step[move]]
        made = scheduler.make(step)
        rows, network, _, log = states[moves.target[move]]
        told = made if isinstance(made, str) else ""
        if (
            not told
            and matcher.row_piece(scheduler.rows[step.node]) != rows[nodes.index(step.node)]
        ):
            told = "the row is not the model's"
        for message in () if isinstance(made, str) else made:
            bit = matcher.message_bit(message)
            if bit == ABSENT or not network >> bit & 1:
                told = told or f"the model sends no {tell(message)}"
            else:
                mask |= 1 << bit
        if not told and mask != network:
            told = "the model sends more than the reference"
        if not told and tuple([matcher.record_piece(each) for each in scheduler.log]) != log:
            told = "the shared log is not the model's"
        if told:
            return driven, Mismatch("differs", moves.source[move], step.action, told)
        driven += 1
    return driven, None


def script(matcher: Matcher, walk: Iterable[int]) -> list[str]:
    """A walk in readable lines, one for each move."""
    lines = []
    for move in walk:
        step = matcher.moves.steps[matcher.moves.step[move]]
        lines.append(f"{step.action} node {step.node}: {tell(step.input)}")
    return lines


def way_to(matcher: Matcher, state: int) -> list[str]:
    """A shortest way to a state that the reference reaches, as a script."""
    moves = matcher.moves
    inside = [edge for edge, target in enumerate(moves.target) if target != ABSENT]
    source = [moves.source[edge] for edge in inside]
    target = [moves.target[edge] for edge in inside]
    by = shortest_ways(len(matcher.states), matcher.dump.initial, source, target)
    way: list[int] = []
    while by[state] >= 0:
        way.append(inside[by[state]])
        state = source[by[state]]
    return script(matcher, way[::-1])
