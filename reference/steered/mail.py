"""What travels in a steered run: messages that wait, that may come again, and that are slow.

A message comes when the schedule says so, or is lost. Over a link that keeps the order, messages
come once, in the order in which they were sent. Over any other link they come in any order, and a
message that has come may come again. Equal messages that wait are one message.

Law of this file: no choice is made here, and nothing knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

Link: TypeAlias = tuple[int, int]
"""From a node to a node, one way."""
M = TypeVar("M", bound=Hashable)


class Lost(NamedTuple):
    """In place of an input: a message that never arrives."""

    message: Any


class Mail(Generic[M]):
    """The messages of one network.

    Args:
        link: from whom to whom a message travels.
        passes: whether it can come now.
        in_order: whether what travels over a link does so in order.
    """

    def __init__(
        self,
        link: Callable[[M], Link],
        passes: Callable[[M], bool],
        in_order: Callable[[int, int], bool] = lambda source, destination: False,
    ) -> None:
        self._link, self._passes, self._in_order = link, passes, in_order
        self.waiting: dict[M, None] = {}
        """Messages that have not come since they were sent last, the oldest first."""
        self._came: dict[M, None] = {}
        """Those that may come again, in the order in which they came first."""
        self.held: set[M] = set()
        """Slow messages. Time does not bring them; a move of the schedule does."""

    def post(self, message: M) -> None:
        """It is on its way."""
        self.waiting[message] = None

    def come(self, message: M) -> None:
        """It comes; or it is so late that it only comes again."""
        self.lose(message)
        if not self._in_order(*self._link(message)):
            self._came[message] = None

    def lose(self, message: M) -> None:
        """It does not come."""
        self.waiting.pop(message, None)
        self.held.discard(message)

    def next(self) -> Iterator[M]:
        """What may come next where nothing is cut and everybody runs, the oldest first."""
        heads = set[Link]()
        for message in self.waiting:
            link = self._link(message)
            if link not in heads or not self._in_order(*link):
                yield message
            heads.add(link)

    def deliverable(self, again: bool = False) -> list[M]:
        """What may come now, the oldest first; `again`: come once more."""
        repeated = (m for m in self._came if m not in self.waiting)
        return [m for m in (repeated if again else self.next()) if self._passes(m)]

    def prompt(self) -> list[M]:
        """What comes as time passes, the oldest first."""
        return [m for m in self.deliverable() if m not in self.held]

    def delays(self) -> list[Callable[[], None]]:
        """What is on its way may be slow from now on."""
        return [partial(self.held.add, m) for m in self.prompt()]
