"""A move: what can happen next, in words, and how to have it happen.

Law of this file: the words say all about a move, so that no two moves that are possible at one time
have the same ones. Then a list of words is a schedule: reading it is finding each among the moves
that are possible when its turn has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from kraftcheck.reference.clients.promises import Configuration, Envelope
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder

Words: TypeAlias = str | Callable[[], str]
"""Of one line; where there are many of which one is made, they are made when they are asked for."""


def said(words: Words) -> str:
    return words if isinstance(words, str) else words()


class Move:
    """What can happen next. make: has it happen; may raise a Failure."""

    def __init__(self, words: Words, make: Callable[[], None]) -> None:
        self._words, self.make = words, make

    @property
    def words(self) -> str:
        return said(self._words)

    def __repr__(self) -> str:
        return f"<{self.words}>"


class NodeStep(NamedTuple):
    """A step of one node, by content."""

    constants: Any
    """Of the protocol whose step it is."""
    node: int
    action: str
    before: Any
    input: Any
    after: Any
    sent: tuple[Any, ...]
    ignored: str


def recorded_steps(recorder: Recorder) -> Iterator[NodeStep]:
    """What has been recorded, each step once, in the order of first appearances."""
    for step in recorder.distinct:
        yield NodeStep(
            constants=step.before.machine.constants,
            node=step.before.node,
            action=f"Handle{step.input.kind}",
            before=step.before.row,
            input=step.input.value,
            after=step.after.row,
            sent=tuple([message.value for _, message in step.sent]),
            ignored=step.ignored,
        )


class Log(Protocol):
    """What clients of a steered run use, and what they saw of it."""

    has_control_records: bool
    """Which no client wrote."""

    @property
    def promised(self) -> tuple[Configuration, Envelope]:
        """What promises depend on."""
        ...

    def close_history(self) -> Sequence[Operation]: ...


class Steered(Protocol):
    """A run that is steered, of whatever protocol."""

    moves: list[str]
    """What has happened so far, in words."""
    sound: bool
    """False from the step that broke something on."""

    def possible(self) -> Iterator[Move]:
        """All moves that there are now."""
        ...

    def progress(self) -> str:
        """Ends every fault and lets time pass: empty, or why nothing got anywhere."""
        ...

    def steps(self) -> Iterator[NodeStep]:
        """The steps that nodes have taken, in the order of first appearances."""
        ...

    def named_rows(self) -> dict[str, Any]:
        """All rows, by what their nodes are called."""
        ...

    def setting(self) -> dict[str, Any]:
        """What makes the same run again, besides its moves: values of JSON."""
        ...


class Names:
    """One name for each value: the words for it.

    Values with the same words are numbered in the order in which they were first named. (Words
    leave out what a response answers.)
    """

    def __init__(self, words: Callable[[Any], str]) -> None:
        self._words = words
        self._names: dict[Any, str] = {}
        self._taken: dict[str, int] = {}

    def name(self, value: Any) -> str:
        name = self._names.get(value)
        if name is None:
            words = self._words(value)
            alike = self._taken[words] = self._taken.get(words, 0) + 1
            name = self._names[value] = words if alike == 1 else f"{words} #{alike}"
        return name
