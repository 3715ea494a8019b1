"""Say how a steered run can fail.

An invariant, a promise to clients, no progress, or a step that is none of the spec.

Each has the moves up to it, and a `name` by which a replay can be compared with what was found.
"""

from __future__ import annotations

import re
from typing import Protocol

REJECTED = "rejected step: "
"""How the names of such failures begin."""


class Named(Protocol):
    """An invariant of whatever protocol."""

    @property
    def name(self) -> str: ...
    @property
    def sentence(self) -> str: ...


class Failure(AssertionError):
    """A failure of a run.

    name: the property; sentence: what it says; what: who does otherwise, and in what; moves: all up
    to the failure, in words.
    """

    def __init__(self, name: str, sentence: str, what: str, text: str, moves: list[str]) -> None:
        self.name = name
        self.what = what
        self.sentence = sentence
        self.moves = moves
        super().__init__(f"{text}\n{script(moves)}")


class Violation(Failure):
    """An invariant does not hold: its name and sentence, what is wrong, and the moves up to it."""

    def __init__(self, invariant: Named, what: str, moves: list[str]) -> None:
        text = f"{invariant.name} is violated: {invariant.sentence}\n  {what}"
        super().__init__(invariant.name, invariant.sentence, what, text, moves)


class NoProgress(Failure):
    """Everything is whole again and gets nowhere."""

    def __init__(self, reason: str, moves: list[str]) -> None:
        self.reason = reason
        name = f"no progress: {re.sub('[0-9]+', '#', reason)}"
        sentence = "Once all faults have ended, what must come about comes about."
        text = f"no progress after the faults ended: {reason}"
        super().__init__(name, sentence, reason, text, moves)


class PromiseBroken(Failure):
    """Clients were shown less than what was promised to them."""

    def __init__(self, what: str, moves: list[str]) -> None:
        name = f"promise: {re.sub('[0-9]+', '#', what)}"
        sentence = "What clients see is as consistent as configuration and faults promise."
        super().__init__(name, sentence, what, what, moves)


class StepRejected(Failure):
    """A node took a step that the relation of the spec does not allow.

    Said by TLC, when the run is over.
    """

    def __init__(self, action: str, what: str, moves: list[str]) -> None:
        name = f"{REJECTED}{action}"
        sentence = "Every step of a node is one that the relation of the spec allows."
        super().__init__(name, sentence, what, f"{name}: {what}", moves)


class StepUnsaid(Failure):
    """A node of another implementation came to what no row and no message of the spec can say."""

    def __init__(self, what: str, moves: list[str]) -> None:
        name = "a step beyond the spec"
        sentence = "Every step of a node can be said in rows and messages of the spec."
        super().__init__(name, sentence, what, f"{name}: {what}", moves)


def script(moves: list[str]) -> str:
    """The moves, numbered from 1."""
    return "\n".join(f"  {number:3} {move}" for number, move in enumerate(moves, 1))
