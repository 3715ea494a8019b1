"""Moves that were found, made by a steered run: the schedule that can be replayed and kept.

A steered run (reference/steered) knows its moves by words. A move that it does not have when
its turn comes is left out, counted, and said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.runner.scripted import begin
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.moves import Move, Steered
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples import following, plain
from kraftcheck.traces.counterexamples.plain import Line, Way
from kraftcheck.traces.counterexamples.search import Limits, SearchMove
from tla_utils.output import State


class Refusal(NamedTuple):
    """The first move at which the correct reference does not what the one with the bug does."""

    number: int
    """From 1."""
    words: str
    """The move."""
    lines: list[str]
    """What is different, or that there is no such move."""


def converted(
    machine: str, options: dict[str, Any], bug: str | None, moves: Iterable[SearchMove]
) -> Way:
    """The schedule of these moves. Raises ValueError, UnknownBug: no such setting or bug."""
    script = Script(machine=machine, moves=(), bug=bug, options=options)
    schedule: Any = begin(script)
    lines: list[Line] = []
    failure: Failure | None = None
    for made in moves:
        for words in schedule.wordings(made.node, made.input):
            try:
                lines.append(Line(words, made.state, make(schedule, words)))
            except Failure as found:
                lines.append(Line(words, made.state, True))
                failure = found
                break
        if failure:
            break
    kept = tuple([line.words for line in lines if line.made])
    violates = failure.name if failure else ""
    script = msgspec.structs.replace(script, moves=kept, violates=violates)
    return Way(script, lines, failure, schedule)


def way(
    protocol: Protocol | None,
    cfg: str,
    states: Sequence[State],
    bug: str | None,
    watched: bool = True,
    told: Callable[[int], None] | None = None,
    patience: Sequence[Limits] = (),
) -> Way:
    """How the reference goes through the states of a counterexample.

    Args:
        protocol: whose; None: one of those with a simulation of its own, by what the states show.
        cfg: of the model, for its constants.
        bug: with which the reference follows.
        watched: whether what it violates on its way ends it.
        told, patience: as following.follow has them.

    Raises:
        ToolError, UnknownBug, OutOfScope: as following.follow, and plain.follow.
    """
    if protocol is not None and protocol.by_chance:
        return plain.follow(protocol, cfg, states, bug)
    found = following.follow(states, cfg, bug, told, patience)
    options = found.options if watched else {**found.options, "watched": False}
    made = converted(found.machine, options, bug, found.moves)
    return made._replace(
        states=found.states, reached=found.reached, missing=found.missing, nodes=found.nodes
    )


def make(schedule: Steered, words: str) -> bool:
    """Whether there is such a move; then it was made. Raises Failure."""
    for move in schedule.possible():
        if move.words == words:
            move.make()
            return True
    return False


NODES = r"broker \d+|partition \d+|\bof \d+|[\dCK]+>[\dCK]+|\d+ -> \d+|^(?:quorum: )?\d+ "
_NUMBERS = re.compile(rf"({NODES})|\d+")


def shape(words: str) -> str:
    """The words without numbers other than those of nodes and partitions."""
    return _NUMBERS.sub(lambda found: found[1] or "#", words)


def alike(schedule: Steered, words: str) -> Move | None:
    """Find the move with these words, or else the first of the same shape.

    Where earlier moves were left out, values and offsets differ.
    """
    wanted = shape(words)
    second: Move | None = None
    for move in schedule.possible():
        if move.words == words:
            return move
        if second is None and shape(move.words) == wanted:
            second = move
    return second


def make_alike(schedule: Steered, moves: Sequence[str]) -> tuple[tuple[str, ...], Failure | None]:
    """Makes these moves or ones alike. Those that were made, up to the first failure, and that."""
    kept: list[str] = []
    for words in moves:
        move = alike(schedule, words)
        if move is not None:
            kept.append(move.words)
            try:
                move.make()
            except Failure as failure:
                return tuple(kept), failure
    return tuple(kept), None


def run(script: Script, moves: Sequence[str]) -> tuple[tuple[str, ...], Failure | None]:
    """The moves that were possible, up to the first failure, and that failure.

    Nothing is demanded at the end: what a counterexample violates it violates on its way.
    """
    schedule = begin(script)
    kept: list[str] = []
    for words in moves:
        try:
            if make(schedule, words):
                kept.append(words)
        except Failure as failure:
            return (*kept, words), failure
    return tuple(kept), None


# -- The correct reference


def refusal(script: Script) -> Refusal | None:
    """Where the correct reference parts from the one with the script's bug; None: nowhere."""
    with_bug = begin(script)
    correct = begin(msgspec.structs.replace(script, bug=None))
    for number, words in enumerate(script.moves, 1):
        broken = False
        try:
            make(with_bug, words)
        except Failure:
            broken = True
        try:
            there = make(correct, words)
        except Failure as failure:
            return Refusal(number, words, [f"the correct reference violates {failure.name}, too"])
        if not there:
            return Refusal(number, words, ["there is no such move in the correct reference"])
        lines = list(_differences(with_bug.named_rows(), correct.named_rows()))
        if lines or broken:
            return Refusal(number, words, lines or ["the same rows, but what was sent differs"])
    return None


def _differences(one: dict[str, Any], other: dict[str, Any]) -> Iterable[str]:
    """By node and field, what is so with the bug and otherwise without."""
    for name, row in one.items():
        correct = other[name]
        for field in row.__struct_fields__:
            buggy, right = getattr(row, field), getattr(correct, field)
            if buggy != right:
                yield f"{name}, {field}: {_short(buggy)} with the bug, {_short(right)} without"


def _short(value: Any) -> str:
    text = msgspec.json.encode(value).decode().replace('"', "")
    return text if len(text) <= 60 else f"{text[:57]}..."
