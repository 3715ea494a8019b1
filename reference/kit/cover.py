"""What a protocol says of itself to be covered: traces/cover knows nothing else of it.

A *composition* is the Python twin of a module in specs/*/cover: the same handlers, the same network
that never forgets, the same budgets. It is the scripted scheduler's rule book: which moves a state
of the graph has, and what each does. `traces/cover/plain.py` makes it from a protocol's
declarations; a protocol with a shared log or free choices has one of its own, in its folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

RowLike: TypeAlias = Any
"""A row of the protocol: immutable, hashable, equal by content."""
InputLike: TypeAlias = Any
RecordLike: TypeAlias = Any
"""A record of the log that nodes share, where there is one."""


class Result(NamedTuple):
    """What one handler call makes: the row after, what it sends, why it ignored the input."""

    row: RowLike
    sent: tuple[InputLike, ...]
    ignored: str


class LocalMove(NamedTuple):
    """A node, an action and an input that is no message."""

    action: str
    input: InputLike
    budget: str | None
    """What it spends, or None."""


class Composition(ABC):
    """The rule book.

    Besides rows, a state has a network, what has been spent of the budgets, and perhaps a log that
    nodes share: records are appended by sending them and never go away.
    """

    name: str
    constants: Any
    nodes: tuple[int, ...]
    places: Sequence[tuple[str, tuple[int, ...]]]
    """The dump's variables that hold rows, each with whose; together they are `nodes`."""
    shared: str = ""
    """The dump's variable that holds the shared log; empty: there is none."""
    moves: frozenset[str]
    """The actions that may happen, by name."""
    budgets: Mapping[str, int]
    """How much may be spent of what."""
    messages: tuple[type[Any], ...]
    """The types of what somebody must have sent."""
    in_turns: bool = False
    """Whether a step may be several of the specification's, as append and flush in one, which TLC
    could not judge as one.
    """

    @abstractmethod
    def initial(self) -> Sequence[RowLike]:
        """The rows at first, in the order of `nodes`."""

    def begun(self) -> Sequence[tuple[int, InputLike]]:
        """Nodes and inputs by which new nodes come to the rows at first."""
        return ()

    def first_log(self) -> tuple[RecordLike, ...]:
        """What the shared log holds at first."""
        return ()

    def receiver(self, message: InputLike) -> int | None:
        """The node that a message in the network may be delivered to; None: nobody of these."""
        node: int = message.destination
        return node if node in self.nodes else None

    def available(
        self, input: InputLike, network: Set[InputLike], shared: tuple[RecordLike, ...]
    ) -> bool:
        """Say whether an input may come.

        A message may not that nobody sent, nor a reading that the shared log does not have.
        """
        return not isinstance(input, self.messages) or input in network

    def split(
        self, sent: tuple[InputLike, ...]
    ) -> tuple[tuple[InputLike, ...], tuple[RecordLike, ...]]:
        """Of what was sent, the messages to the network and the records for the shared log."""
        return sent, ()

    @abstractmethod
    def local_moves(
        self, node: int, row: RowLike, spent: Mapping[str, int], shared: tuple[RecordLike, ...]
    ) -> Iterator[LocalMove]:
        """What a node may try that is no delivery; a handler may still find it disabled."""

    def within(self, row: RowLike) -> bool:
        """Whether a step may lead to this row: the bounds that are no budgets."""
        return True

    @abstractmethod
    def outcomes(self, node: int, row: RowLike, input: InputLike) -> Sequence[Result]:
        """All outcomes that the reference has for this input, its own first; none: disabled."""

    @abstractmethod
    def attempts(
        self, node: int, row: RowLike, incoming: Sequence[InputLike], shared: tuple[RecordLike, ...]
    ) -> Iterator[InputLike]:
        """Give inputs that none of these nodes sends, to be attempted at a row.

        They are attempted whether or not the row has a use for them. incoming: the messages that
        its node may be sent. shared: a longest log.
        """

    @abstractmethod
    def mutants(self, message: InputLike) -> Iterator[InputLike]:
        """A message with one thing changed: what nobody sends."""


def tell(input: InputLike) -> str:
    """An input in one readable line."""
    fields = ", ".join(
        f"{name}={tell(value) if hasattr(value, '__struct_fields__') else value}"
        for name in input.__struct_fields__
        for value in [getattr(input, name)]
    )
    return f"{type(input).__name__}({fields})"
