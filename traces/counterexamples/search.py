"""The shortest moves from one state to any that shows what is wanted.

A *world* is a whole state of the reference as one immutable value: rows, network, whatever else.
What TLC shows of a state is its *essence*: a tuple, one part for each node. Many worlds have the
same essence, since the models leave out what is not needed there and may be needed here; so the
search goes on from several of them at once.

Law of this file: moves come from the world and outcomes from the reference's handlers. A part that
TLC's step leaves alone stays as it is at every move, so that nothing is done beside the story.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import count
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

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


class Made(NamedTuple):
    """A move: an input of a node.

    state: the number of TLC's state to which it is on the way; 1 is the one that TLC begins with.
    """

    node: int
    input: Any
    state: int = 1


class Allowed(NamedTuple):
    """What a step of TLC may change, and which moves that the models count it makes: only then may
    the search make them.

    state: the number of the state that it leads to. parts: of the essence, by position. value: of a
    record that a client appends, or None. movers: the nodes that may move; None: all.
    """

    state: int
    parts: frozenset[int]
    crash: bool = False
    value: int | None = None
    others: frozenset[str] = frozenset()
    """What else is counted, by the name of its budget."""
    movers: frozenset[int] | None = None


class World(Protocol):
    """A whole state, hashable and equal by content."""

    def essence(self) -> Essence:
        """What TLC would show of it."""
        ...

    def moves(self, allowed: Allowed) -> Iterator[tuple[Made, World]]:
        """Every move that the reference can make now, the simplest first, with what it leads to."""
        ...


class Way(NamedTuple):
    """A world, and the moves that led to it from where the search began."""

    world: Any
    moves: tuple[Made, ...]


class Beginning(NamedTuple):
    """Where the story of a counterexample begins.

    machine, options: of the scripted run. way: to where the story begins. wanted: what a world must
    show where TLC printed a state, and which one before it. parts: names of the parts of an
    essence; of the last `loose` ones TLC's rows say nothing. places: positions of the rows, by
    their names in the model; alone: of other variables. fields: of what parts consist, by their
    number. followers: by position, nodes whose moves suffice where only their parts change, with
    those who always may move; none where others must answer.
    """

    machine: str
    options: dict[str, Any]
    way: Way
    wanted: Callable[[Mapping[str, Any], Mapping[str, Any]], Essence]
    parts: tuple[str, ...]
    loose: int
    places: Mapping[str, int]
    fields: tuple[tuple[str, ...], ...]
    alone: Mapping[str, int] = MappingProxyType({})
    followers: tuple[int, ...] = ()
    always: frozenset[int] = frozenset()

    def movers(self, parts: frozenset[int]) -> frozenset[int] | None:
        """Whose moves may do when these parts change; None where others must answer."""
        if not self.followers:
            return None
        return self.always | {node for at, node in enumerate(self.followers) if at in parts}


class Limits(NamedTuple):
    """depth: moves for one step of TLC.

    worlds: looked at for one step. kept: worlds with the wanted essence from which the next step
    goes on.
    """

    depth: int = 12
    worlds: int = 20_000
    kept: int = 12


class Found(NamedTuple):
    """ways: those that lead to what is wanted, the shortest first.

    nearest: what shows most of it; looked_at: how many worlds there were.
    """

    ways: list[Way]
    nearest: Way
    looked_at: int


def find(starts: Iterable[Way], wanted: Essence, allowed: Allowed, limits: Limits) -> Found:
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
    return Found(found, nearest[2], len(seen))


def _missing(essence: Essence, wanted: Essence) -> int:
    """How many parts are not yet as wanted: at least so many moves are left."""
    return sum(map(_differ, essence, wanted))


def _differ(one: Hashable, other: Hashable) -> bool:
    return one != other


def _is_beside(essence: Essence, wanted: Essence, fixed: Iterable[bool]) -> bool:
    """Whether a part changed that TLC's step leaves alone."""
    return any(map(_strays, essence, wanted, fixed))


def _strays(now: Hashable, goal: Hashable, fixed: bool) -> bool:
    return fixed and now != goal
