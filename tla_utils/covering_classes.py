"""Walks from one state that take an edge of each class, in few moves.

Which edge of a class is taken is free. To choose edges and their order so that moves and walks are
fewest is a travelling salesman's problem, so this is an approximation with a stated gap. From where
a walk is, it goes on to the nearest edge of a class that is still missing; where beginning another
walk at the start is cheaper, it does that. What is nearest is found breadth first, so nothing that
is missing is passed on the way, and equal choices are made alike everywhere.

The bound is of any set of walks. Let h(c) be how many moves it takes at least from the start to
have taken an edge of class c, and n(t) the number of classes with h(c) >= t. In a walk of L moves,
at most L - t + 1 moves come so late that they can take such a class first. So all walks that take
some together have at least n(t) + t - 1 moves, for each t, and there is at least one walk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tla_utils.covering import Cover
from tla_utils.dump import shortest_ways
from tla_utils.errors import ToolError

ABSENT = -1
"""In place of the class of an edge that is of none."""


def cover_classes(
    states: int,
    source: Sequence[int],
    target: Sequence[int],
    start: int,
    classes: Sequence[Collection[int]],
    restart_cost: int = 1,
) -> Cover:
    """Find walks from `start` that take an edge of each class.

    Args:
        states: number of states, which are numbered from 0.
        source: the source of each edge.
        target: the target of each edge.
        start: the state in which every walk begins.
        classes: numbers of edges by class; no edge is in two classes.
        restart_cost: the cost of a further walk, in moves.

    Raises:
        ToolError: an edge is in two classes, there are no classes, or all edges of a class are
            unreachable.
    """
    if not classes:
        raise ToolError("there are no edges to cover: an empty cover shows nothing")
    graph = _Graph(states, source, target, classes)
    depths = graph.depths(start)
    firsts = graph.firsts(depths, classes)
    missing = set(range(len(classes)))
    walks: list[list[int]] = []
    at = start
    while missing:
        # A way that costs more than another walk is not looked for.
        anew = restart_cost + min(firsts[number] for number in missing)
        way = graph.nearest(at, missing, anew) if walks else None
        if way is None:
            walks.append([])
            way = graph.nearest(start, missing, states)
            assert way is not None, "the first edges were reached from the start"
        walks[-1] += way
        missing.remove(graph.class_of[way[-1]])
        at = target[way[-1]]
    moves = sum(map(len, walks))
    return Cover(walks, moves, least_moves(firsts) + restart_cost, restart_cost)


def least_moves(firsts: Sequence[int]) -> int:
    """No walks from the start take all classes in fewer moves. firsts: h(c) of each class."""
    ascending = sorted(firsts)
    return max(len(ascending) - at + first - 1 for at, first in enumerate(ascending))


class _Graph:
    def __init__(
        self,
        states: int,
        source: Sequence[int],
        target: Sequence[int],
        classes: Sequence[Collection[int]],
    ) -> None:
        self.states, self.source, self.target = states, source, target
        self.leaving: list[list[int]] = [[] for _ in range(states)]
        for edge, state in enumerate(source):
            self.leaving[state].append(edge)
        self.class_of: dict[int, int] = {}
        for number, edges in enumerate(classes):
            for edge in edges:
                if self.class_of.setdefault(edge, number) != number:
                    raise ToolError(f"the edge {edge} is of two classes")

    def depths(self, start: int) -> list[int]:
        """How many moves it takes to each state; -1 where no way leads."""
        by = shortest_ways(self.states, [start], self.source, self.target)
        depth = [-1] * self.states
        depth[start] = 0
        for state in range(self.states):
            way = []  # stays so where none leads
            at = state
            while depth[at] < 0 and by[at] >= 0:
                way.append(at)
                at = self.source[by[at]]
            for further, each in enumerate(reversed(way), 1):
                depth[each] = depth[at] + further
        return depth

    def firsts(self, depths: Sequence[int], classes: Sequence[Collection[int]]) -> list[int]:
        """How many moves it takes to have taken an edge of each class."""
        found = []
        for edges in classes:
            reached = [depths[self.source[e]] + 1 for e in edges if depths[self.source[e]] >= 0]
            if not reached:
                raise ToolError("an edge that is to be covered cannot be reached from the start")
            found.append(min(reached))
        return found

    def nearest(self, begin: int, missing: set[int], most: int) -> list[int] | None:
        """Give a shortest path whose last edge is of a missing class.

        None if it takes more than `most` moves.
        """
        by: dict[int, int] = {begin: -1}
        front, moves = [begin], 0
        while front and moves < most:
            moves += 1
            beyond = []
            for state in front:
                for edge in self.leaving[state]:
                    if self.class_of.get(edge, ABSENT) in missing:
                        return [*self._way(by, state), edge]
                    if self.target[edge] not in by:
                        by[self.target[edge]] = edge
                        beyond.append(self.target[edge])
            front = beyond
        return None

    def _way(self, by: dict[int, int], state: int) -> list[int]:
        way = []
        while by[state] >= 0:
            way.append(by[state])
            state = self.source[by[state]]
        return way[::-1]
