"""What a JUnit test of Kafka's is made of, whatever node it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.exits import BadInput
from kraftcheck.kafka.witness.speech import Outcome
from kraftcheck.reference.steered.moves import NodeStep

INDENT: Final = "    "


class Wrong(NamedTuple):
    """Steps of Kafka's nodes up to the wrong one, and what the specification allows instead."""

    steps: Sequence[NodeStep]
    allowed: Sequence[Any]
    """The outcomes, each with a row and what is sent."""

    @property
    def own(self) -> list[NodeStep]:
        """The steps of the node that takes the wrong one."""
        return [step for step in self.steps if step.node == self.steps[-1].node]


class Test(NamedTuple):
    """The parts of a test."""

    package: str
    body: Sequence[str]
    """The method's lines."""
    imports: str
    """Which of imports.toml: what it may have to import."""
    extends: str = ""
    members: Sequence[str] = ()
    """What the class has beside the method."""
    within: str = ""
    """The class of Kafka's that the method belongs to, since its context is private there."""


def outcomes(step: NodeStep, wrong: Wrong) -> Sequence[Outcome]:
    """What is asserted after a step: what Kafka did, or, of the wrong one, what is allowed."""
    if step is not wrong.steps[-1]:
        return [Outcome(step.after, step.sent, step.ignored)]
    return [Outcome(each.row, tuple(each.sent), each.ignored) for each in wrong.allowed]


def common(lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of the first alternative that all of them have."""
    return [line for line in lines[0] if all(line in other for other in lines)]


def refused(context: str, words: str) -> BadInput:
    """No test is made: the context cannot deliver this input."""
    return BadInput(
        f"`{words}` has no counterpart in Kafka's {context} that is written here: no test is made "
        "of this schedule"
    )
