"""Runs that begin in the middle of something: with moves that a model checker has found.

A run of a seed seldom gets to where a protocol is in the middle of something rare; TLC goes the
shortest way there. So fuzzers begin with inputs that once led somewhere (Zalewski, "AFL", 2013);
here with moves that led somewhere in a model, and go on as any run does. A protocol of which runs
may begin so has them as data (`Beginning`), and says what its moves are and which there are.

All of it happens in the first moment of the run, in order: the moves of the beginning, and then so
many as are asked for, drawn among those that there are. What was sent and has not arrived when it
is over is on its way then.

Law of this file: nothing happens that could not have happened to the nodes of this run. What a node
hears was sent to it, and comes once and in order where the network has it so; at the first move
that there is not the beginning ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.interning import KnownInput

AT_ONCE: Final = {"faulty_ms": 1}
"""All is healed as soon as a run has begun: it is short."""
RARE: Final = 4
"""One of so many of them is none that is usual."""


class Beginning(NamedTuple):
    of: str
    """What it leads to: a bug, or the graph of which it is a walk."""
    options: Mapping[str, Any]
    """The constants."""
    moves: tuple[str, ...]
    """In words, each of which begins with the node that takes it."""


def read(text: str) -> dict[str, Beginning]:
    """By name: what the generated modules hold.

    The constants are an object of JSON, in one line or several. Moves stand one a line, or several
    with semicolons between.
    """
    found = {}
    for each in text.strip().split("\n\n"):
        name, of, rest = each.split(maxsplit=2)
        options, _, lines = rest.partition("}\n")
        moves = tuple([move for line in lines.splitlines() for move in line.split("; ")])
        found[name] = Beginning(of, msgspec.json.decode(options + "}"), moves)
    return found


class Mail:
    """What was sent while a run begins, by number."""

    def __init__(self, once: Callable[[int, int], bool]) -> None:
        """once: whether what travels from one node to another comes once and in order."""
        self._once = once
        self._sent: list[tuple[int, int, KnownInput]] = []
        self._arrived: set[int] = set()
        self._latest: dict[tuple[int, int], int] = {}
        """By link, the number of the last that has arrived."""

    def post(self, source: int, sent: Iterable[tuple[int, KnownInput]]) -> None:
        self._sent += [(source, destination, message) for destination, message in sent]

    def may_arrive(self, number: int) -> bool:
        """Whether this one may come, or come again."""
        if not number < len(self._sent):
            return False
        link = self._sent[number][:2]
        return not self._once(*link) or number > self._latest.get(link, -1)

    def message(self, number: int) -> tuple[int, KnownInput]:
        """To whom, and what."""
        return self._sent[number][1:]

    def arrive(self, number: int) -> None:
        self._arrived.add(number)
        link = self._sent[number][:2]
        self._latest[link] = max(number, self._latest.get(link, -1))

    def number(self, destination: int, message: KnownInput) -> int | None:
        """Of the copy of a message that may come next: one that has not come, or again."""
        for again in (False, True):
            for number in self.deliverable(again):
                if self.message(number) == (destination, message):
                    return number
        return None

    def deliverable(self, again: bool) -> Iterator[int]:
        """Those that may come, for the first time or `again`."""
        for number in range(len(self._sent)):
            if (number in self._arrived) is again and self.may_arrive(number):
                yield number

    def left(self) -> Iterator[tuple[int, tuple[tuple[int, KnownInput], ...]]]:
        """What is on its way in the end, as a network is told of it: by whom, to whom, what."""
        for number in self.deliverable(False):
            source, destination, message = self._sent[number]
            yield source, ((destination, message),)


class Possible(NamedTuple):
    """What may happen next: as long as all goes well, and else."""

    usual: Sequence[Callable[[], object]]
    rare: Sequence[Callable[[], object]]


def begin_with(
    moves: Sequence[str],
    make: Callable[[str], bool],
    more: int,
    possible: Callable[[], Possible],
    stream: Stream,
) -> None:
    """The moves of a beginning, and so many more.

    make: whether there was such a move; then it was made. possible: what there is; nothing: the run
    is over.
    """
    all(map(make, moves))  # up to the first that there is not
    for _ in range(more):
        usual, rare = possible()
        if not usual and not rare:
            break
        seldom = stream.below(RARE) == RARE - 1
        pick(stream, rare if rare and (seldom or not usual) else usual)()
