"""The shortest moves from one state to any that shows what is wanted.

A *world* is a configuration of the protocol's `System`, with the moves that its models count. What
TLC shows of a state is its *essence*: a tuple, one part for each node. Models leave out things that
the reference needs, so many worlds have the same essence. The search continues from several.

Law of this file: moves are those of the system, and outcomes those of the reference's handlers. A
part that TLC's step leaves alone stays as it is at every move, so that nothing is done beside the
story.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from operator import ne
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.reference.core.system import Configuration, Message, System
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.steered.mail import Lost

Essence: TypeAlias = tuple[Hashable, ...]


class _Any:
    """Equal to everything: a part of an essence of which nothing is known."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "anything"


ANY: Final = _Any()


class AtLeast(frozenset[Hashable]):
    """A set that equals every set that holds it: more may be there than TLC shows."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, frozenset) and self <= other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = frozenset.__hash__


class SearchMove(NamedTuple):
    """A move: an input of a node."""

    node: int
    input: Any
    state: int = 1
    """The number of TLC's state to which it is on the way; 1 is the one that TLC begins with."""


class Allowed(NamedTuple):
    """What a step of TLC may change, and which counted moves it makes.

    The search may make these only.
    """

    state: int
    """The number of the state that it leads to."""
    parts: frozenset[int]
    """Of the essence, by position."""
    crash: bool = False
    value: int | None = None
    """Of a record that a client appends, or None."""
    others: frozenset[str] = frozenset()
    """What else is counted, by the name of its budget."""
    movers: frozenset[int] | None = None
    """The nodes that may move; None: all."""


class Searched(ABC):
    """What a protocol says of the worlds that are searched, and of their moves."""

    counted: Sequence[str]
    """What its models count."""
    arriving_again: tuple[type[Any], ...] = ()
    """Messages that may come again once they came."""
    keeps: bool = False
    """Whether every message may come at any time, and again; else what is in order may be lost."""

    def __init__(self, system: System) -> None:
        self.system = system

    @abstractmethod
    def own(self, world: World, allowed: Allowed) -> Iterator[tuple[int, Any]]:
        """Inputs that are no messages, and their nodes, the simplest first."""

    @abstractmethod
    def shown(self, at: Configuration) -> Essence:
        """What TLC shows of it, less the counts."""

    @abstractmethod
    def counts(self, world: World, input: Any) -> str | None:
        """As what the models count a move with this input; None: they do not."""

    def step(self, at: Configuration, node: int, input: Any) -> Step | None:
        return self.system.step(at, node, self.system.machine.interner.input(input))


class World:
    """A configuration, and how often each counted move was made. Hashable and equal by content.

    Its mail has each message once; what has come and may come again is held.
    """

    __slots__ = ("_essence", "_hash", "_key", "at", "of", "spent")

    def __init__(
        self, of: Searched, at: Configuration, spent: tuple[int, ...] | None = None
    ) -> None:
        self.of, self.at = of, at
        self.spent = (0,) * len(of.counted) if spent is None else spent
        self._key = at.states, at.log, at.mail, frozenset(at.held), self.spent
        self._hash = hash(self._key)
        self._essence: Essence | None = None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, World) and self._key == other._key

    def essence(self) -> Essence:
        """What TLC would show of it."""
        if self._essence is None:
            self._essence = (*self.of.shown(self.at), self.spent)
        return self._essence

    def moves(self, allowed: Allowed) -> Iterator[tuple[SearchMove, World]]:
        """Every move that the reference can make now, the simplest first, with what it leads to."""
        system, at = self.of.system, self.at
        waiting = [each for each in system.deliverable(at) if system.state(at, each[0]).running]
        again = [
            each for each in at.held if each not in at.mail and system.state(at, each[0]).running
        ]
        for node, message in (*waiting[::-1], *again[::-1]):
            yield from self.make(node, message.value)
        for node, input in self.of.own(self, allowed):
            yield from self.make(node, input)
        for node, message in waiting[::-1]:
            if system.in_order(message.value):
                left = at._replace(mail=_without(at.mail, (node, message)))
                yield SearchMove(node, Lost(message.value)), World(self.of, left, self.spent)

    def make(self, node: int, input: Any) -> Iterator[tuple[SearchMove, World]]:
        """The move, if it changes anything."""
        of, at = self.of, self.at
        step = of.step(at, node, input)
        if step is None:
            return
        message = node, step.input
        if message in at.mail:
            again = isinstance(input, of.arriving_again) and message not in at.held
            held = (*at.held, message) if again else at.held
            at = at._replace(mail=_without(at.mail, message), held=held)
        if step.inert and not step.sent and at is self.at:
            return
        after = of.system.after(at, step)
        if of.keeps:
            after = after._replace(mail=(), held=tuple(dict.fromkeys((*after.held, *after.mail))))
        elif step.travelling:
            after = after._replace(mail=tuple(dict.fromkeys(after.mail[::-1]))[::-1])
        kind = of.counts(self, input)
        spent = tuple([n + (name == kind) for name, n in zip(of.counted, self.spent, strict=True)])
        yield SearchMove(node, input), World(of, after, spent)


def _without(messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    return tuple([m for m in messages if m != message])


class Way(NamedTuple):
    """A world, and the moves that led to it from where the search began."""

    world: World
    moves: tuple[SearchMove, ...]


class Beginning(NamedTuple):
    """Where the story of a counterexample begins.

    machine, options: of the scripted run.
    """

    machine: str
    options: dict[str, Any]
    way: Way
    """To where the story begins."""
    wanted: Callable[[Mapping[str, Any], Mapping[str, Any]], Essence]
    """What a world must show where TLC printed a state, and which one before it."""
    parts: tuple[str, ...]
    """Names of the parts of an essence; of the last `loose` ones TLC's rows say nothing."""
    loose: int
    places: Mapping[str, int]
    """Positions of the rows, by their names in the model."""
    fields: tuple[tuple[str, ...], ...]
    """Of what parts consist, by their number."""
    alone: Mapping[str, int] = MappingProxyType({})
    """Of other variables."""
    followers: tuple[int, ...] = ()
    """By position, nodes whose moves suffice where only their parts change, with those who always
    may move; none where others must answer.
    """
    always: frozenset[int] = frozenset()

    def movers(self, parts: frozenset[int]) -> frozenset[int] | None:
        """Whose moves may do when these parts change; None where others must answer."""
        if not self.followers:
            return None
        return self.always | {node for at, node in enumerate(self.followers) if at in parts}


class Limits(NamedTuple):
    depth: int = 12
    """Moves for one step of TLC."""
    worlds: int = 20_000
    """Looked at for one step."""
    kept: int = 12
    """Worlds with the wanted essence from which the next step goes on."""


class SearchResult(NamedTuple):
    ways: list[Way]
    """Those that lead to what is wanted, the shortest first."""
    nearest: Way
    """What shows most of it."""
    looked_at: int
    """How many worlds there were."""


def find(starts: Iterable[Way], wanted: Essence, allowed: Allowed, limits: Limits) -> SearchResult:
    """The first worlds from `starts` on that show what is wanted; the limits bound the search."""
    fixed = [part not in allowed.parts for part in range(len(wanted))]
    number = count()
    front: list[tuple[int, int, int, Way, Essence]] = []
    seen: set[Any] = set()
    found: list[Way] = []
    nearest: tuple[int, int, Way] | None = None
    for start in starts:
        if start.world not in seen:
            seen.add(start.world)
            essence = start.world.essence()
            heappush(front, (_missing(essence, wanted), 0, next(number), start, essence))
    while front:
        missing, depth, at, way, _ = heappop(front)
        left = missing - depth
        if nearest is None or left < nearest[0]:
            nearest = (left, at, way)
        if left == 0:
            found.append(way)
            if len(found) == limits.kept:
                break
        if depth == limits.depth or len(seen) > limits.worlds:
            continue
        for made, world in way.world.moves(allowed):
            if world in seen or not (allowed.movers is None or made.node in allowed.movers):
                continue
            after = world.essence()
            if not _is_beside(after, wanted, fixed):
                seen.add(world)
                step = Way(world, (*way.moves, made._replace(state=allowed.state)))
                rank = depth + 1 + _missing(after, wanted)
                heappush(front, (rank, depth + 1, next(number), step, after))
    assert nearest is not None, "there is somewhere to begin"
    return SearchResult(found, nearest[2], len(seen))


def _missing(essence: Essence, wanted: Essence) -> int:
    """How many parts are not yet as wanted: at least so many moves are left."""
    return sum(map(ne, essence, wanted))


def _is_beside(essence: Essence, wanted: Essence, fixed: Iterable[bool]) -> bool:
    """Whether a part changed that TLC's step leaves alone."""
    parts = zip(essence, wanted, fixed, strict=True)
    return any(stays and now != goal for now, goal, stays in parts)
