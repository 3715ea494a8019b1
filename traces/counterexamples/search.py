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


class SearchState(Protocol):
    """A whole state, hashable and equal by content."""

    def essence(self) -> Essence:
        """What TLC would show of it."""
        ...

    def moves(self, allowed: Allowed) -> Iterator[tuple[SearchMove, SearchState]]:
        """Every move that the reference can make now, the simplest first, with what it leads to."""
        ...


class Way(NamedTuple):
    """A world, and the moves that led to it from where the search began."""

    world: Any
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
    return sum(map(_differ, essence, wanted))


def _differ(one: Hashable, other: Hashable) -> bool:
    return one != other


def _is_beside(essence: Essence, wanted: Essence, fixed: Iterable[bool]) -> bool:
    """Whether a part changed that TLC's step leaves alone."""
    return any(map(_strays, essence, wanted, fixed))


def _strays(now: Hashable, goal: Hashable, fixed: bool) -> bool:
    return fixed and now != goal
