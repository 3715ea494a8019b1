"""Cycles of dependencies, by the kinds of their edges.

    G0             ww alone
    G1c            ww and wr
    G-single       one rw
    G-nonadjacent  several rw, no two in a row
    G2-item        two rw in a row
    fractured-read one wr and one rw between two transactions

With an edge of a client's order a cycle is a `-process` one, with one of real time a `-realtime`
one. Whether there is a cycle of a kind is decided by strongly connected components, in linear time.
For `G-nonadjacent` the graph has each transaction twice: as reached by an rw, from where no rw goes
on, and as reached by anything else. Only `G-single` needs a search from every rw edge; it has a
budget of visited nodes, and beyond it `G-single` is undecided, which the caller is told.

All is looked for among the edges that lie on some cycle: most histories have none, and others few
(components.py).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.isolation.components import components_of
from kraftcheck.traces.checkers.isolation.dependencies import (
    PROCESS,
    REALTIME,
    RELAYED,
    RW,
    WR,
    WW,
    Dependencies,
    Reason,
)
from kraftcheck.traces.checkers.isolation.levels import VARIANTS, implied

VISITS_MAX: Final = 4_000_000
"""Nodes that searches for short cycles may visit, in one history."""
VISITS_EACH: Final = 200_000
"""After so many, a search for a shorter cycle of one kind in one component is over."""
TRIED: Final = 64
"""Edges of a component through which a short cycle is looked for."""

_EXTRA: Final = {"": (), "-process": (PROCESS,), "-realtime": (PROCESS, REALTIME)}


class Cycle(NamedTuple):
    """A cycle of dependencies.

    Attributes:
        name: the anomaly.
        transactions: in their order around the cycle.
        kinds: of the edge from each transaction to the next one.
        reasons: of the same edges.
    """

    name: str
    transactions: tuple[int, ...]
    kinds: tuple[int, ...]
    reasons: tuple[Reason, ...]


class Cycles(NamedTuple):
    """The smallest cycle of each kind, by name, and the kinds that were not decided."""

    found: dict[str, Cycle]
    undecided: frozenset[str]


# An edge as adjacency lists hold it: target, kind, number among all edges.
_Edge = tuple[int, int, int]
_Adjacent = dict[int, list[_Edge]]


def cycles_of(graph: Dependencies) -> Cycles:
    """The smallest cycles that are found of each kind."""
    rest = _on_cycles(graph, range(len(graph.sources)))
    if not rest:
        return Cycles({}, frozenset())
    return _Search(graph, rest).run()


def _on_cycles(graph: Dependencies, numbers: Sequence[int]) -> list[int]:
    """Numbers of the edges that lie on a cycle of these edges."""
    if not numbers:
        return []
    chosen = np.asarray(numbers, np.int64)
    ends = np.asarray(graph.sources, np.int64)[chosen], np.asarray(graph.targets, np.int64)[chosen]
    found: list[int] = chosen[components_of(*ends).inside].tolist()
    return found


class _Search:
    """The search for cycles in what is left of a graph."""

    def __init__(self, graph: Dependencies, numbers: list[int]) -> None:
        self.graph = graph
        self.numbers = numbers
        self.visits = 0
        self.found: dict[str, Cycle] = {}
        self.undecided: set[str] = set()

    def run(self) -> Cycles:
        for variant in VARIANTS:
            extra = _EXTRA[variant]
            self._without_rw("G0", variant, {WW, *extra}, WW)
            self._without_rw("G1c", variant, {WW, WR, *extra}, WR)
            self._with_rw(variant, {WW, WR, *extra})
        self._fractured()
        return Cycles(self.found, frozenset(self.undecided))

    # -- The kinds of cycles

    def _without_rw(self, name: str, variant: str, kinds: set[int], through: int) -> None:
        if self._is_known(name + variant):
            return
        adjacent = self._adjacent(kinds)
        through_any = kinds if variant else {through}
        for component in _components(adjacent):
            self._look(component, adjacent, through_any, partial(self._close, adjacent, component))

    def _with_rw(self, variant: str, kinds: set[int]) -> None:
        if self._is_known("G-single" + variant):
            return
        whole = self._adjacent({*kinds, RW})
        if not whole:
            return
        doubled = _doubled(whole)
        plain: _Adjacent | None = None
        for component in _components(doubled):
            if not self._is_known("G-nonadjacent" + variant):
                self._look(component, doubled, {RW}, partial(self._close_apart, doubled, component))
            if not self._is_known("G-single" + variant):
                plain = plain or self._adjacent(kinds, peeled=False)
                self._single(variant, plain, component, doubled)
        if not self._is_known("G2-item" + variant):
            for component in _components(whole):
                self._look(component, whole, {RW}, partial(self._close, whole, component))

    def _look(
        self,
        component: set[int],
        adjacent: _Adjacent,
        kinds: set[int],
        close: Callable[[int], int | None],
    ) -> None:
        """Closes some edges of a component to cycles, until one is as short as can be."""
        begun = self.visits
        for tried, edge in enumerate(self._edges_within(component, adjacent, kinds), 1):
            length = close(edge)
            if length == 2 or tried >= TRIED or self.visits - begun > VISITS_EACH:
                return

    def _single(
        self, variant: str, plain: _Adjacent, component: set[int], doubled: _Adjacent
    ) -> None:
        """Looks for a cycle through each rw edge whose other edges are none; one is enough."""
        nodes = {node >> 1 for node in component}
        found = 0
        for tried, edge in enumerate(self._edges_within(component, doubled, {RW}), 1):
            if self.visits > VISITS_MAX:
                self.undecided.add("G-single" + variant)
                return
            length = self._close(plain, nodes, edge)
            found += length is not None
            if length == 2 or (found and tried >= TRIED):
                return

    def _fractured(self) -> None:
        """Looks for two transactions of which one read one write of the other and missed another.

        Each such pair is a G-single, but the shortest one that is kept need not be of this kind.
        """
        graph = self.graph
        relays: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
        missed: dict[tuple[int, int], list[int]] = {}
        for edge in self.numbers:
            first, second, kind = graph.sources[edge], graph.targets[edge], graph.kinds[edge]
            if kind == RELAYED:
                relays.setdefault(first, ({}, {}))[1][second] = edge
            elif kind == RW and second >= graph.count:
                relays.setdefault(second, ({}, {}))[0][first] = edge
            elif kind == RW:
                missed[first, second] = [edge]
        for edge in self.numbers:
            if graph.kinds[edge] != WR:
                continue
            writer, reader = graph.sources[edge], graph.targets[edge]
            path = missed.get((reader, writer))
            for readers, writers in relays.values() if path is None else ():
                if reader in readers and writer in writers:
                    path = [readers[reader], writers[writer]]
                    break
            if path is not None:
                self._keep([edge, *path], "fractured-read")
                return

    def _is_known(self, name: str) -> bool:
        """Whether what was found excludes all that this variant of an anomaly would."""
        return name.endswith(VARIANTS[1:]) and any(name in implied(each) for each in self.found)

    # -- One cycle

    def _close(self, adjacent: _Adjacent, within: Collection[int], edge: int) -> int | None:
        """Looks for the shortest cycle through an edge; returns its length."""
        graph = self.graph
        first, second = graph.sources[edge], graph.targets[edge]
        path = self._path(second, first, adjacent, within)
        return None if path is None else self._keep([edge, *path])

    def _close_apart(self, doubled: _Adjacent, within: Collection[int], edge: int) -> int | None:
        """As `_close`, of cycles without two rw in a row."""
        graph = self.graph
        first, second = graph.sources[edge], graph.targets[edge]
        path = self._path(second << 1 | 1, first << 1, doubled, within)
        return None if path is None else self._keep(_simple([edge, *path], graph))

    def _path(
        self, begin: int, end: int, adjacent: _Adjacent, within: Collection[int]
    ) -> list[int] | None:
        """The numbers of the edges of a shortest path."""
        if begin == end:
            return []
        came: dict[int, tuple[int, int]] = {begin: (-1, -1)}
        queue = deque([begin])
        while queue:
            node = queue.popleft()
            self.visits += 1
            for target, _, number in adjacent.get(node, ()):
                if target in came or target not in within:
                    continue
                came[target] = node, number
                if target == end:
                    path = []
                    while target != begin:
                        target, number = came[target]
                        path.append(number)
                    return path[::-1]
                queue.append(target)
        return None

    def _keep(self, edges: list[int], name: str | None = None) -> int | None:
        """Keeps a cycle if it is the smallest one of its name; returns its length.

        Args:
            name: the anomaly; by default, what its edges make it.
        """
        graph = self.graph
        nodes, kinds, reasons = list[int](), list[int](), list[Reason]()
        for edge in edges:
            kind, reason = graph.kinds[edge], graph.reasons[edge]
            if kind == RELAYED:
                reasons[-1] = reasons[-1]._replace(after=reason.after)
                continue
            nodes.append(graph.sources[edge])
            kinds.append(kind)
            reasons.append(reason)
        if len({*nodes}) < len(nodes):
            return None
        at = nodes.index(min(nodes))
        cycle = Cycle(
            name or name_of(kinds),
            tuple(nodes[at:] + nodes[:at]),
            tuple(kinds[at:] + kinds[:at]),
            tuple(reasons[at:] + reasons[:at]),
        )
        known = self.found.get(cycle.name)
        size = len(cycle.transactions), cycle.transactions
        if known is None or size < (len(known.transactions), known.transactions):
            self.found[cycle.name] = cycle
        return len(nodes)

    # -- Parts of the graph

    def _adjacent(self, kinds: set[int], *, peeled: bool = True) -> _Adjacent:
        """The edges of some kinds; with `peeled`, only such as may be on a cycle of these kinds."""
        graph, found = self.graph, _Adjacent()
        numbers = [
            edge
            for edge in self.numbers
            if graph.kinds[edge] in kinds or (graph.kinds[edge] == RELAYED and RW in kinds)
        ]
        for edge in _on_cycles(graph, numbers) if peeled else numbers:
            target, kind = graph.targets[edge], graph.kinds[edge]
            found.setdefault(graph.sources[edge], []).append((target, kind, edge))
        return found

    def _edges_within(
        self, component: set[int], adjacent: _Adjacent, kinds: set[int]
    ) -> Iterator[int]:
        """Edges of some kinds in a component, in their order."""
        for node in sorted(component):
            for target, kind, number in adjacent.get(node, ()):
                if kind in kinds and target in component:
                    yield number


def name_of(kinds: Collection[int]) -> str:
    """The anomaly that a cycle with edges of these kinds, in their order, is."""
    edges = list(kinds)
    anti = [kind == RW for kind in edges]
    adjacent = any(one and two for one, two in zip(anti, anti[1:] + anti[:1], strict=True))
    if not any(anti):
        name = "G1c" if WR in edges else "G0"
    elif sum(anti) == 1:
        name = "G-single"
    else:
        name = "G2-item" if adjacent else "G-nonadjacent"
    variant = "-realtime" if REALTIME in edges else "-process" if PROCESS in edges else ""
    return name + variant


def _components(adjacent: _Adjacent) -> list[set[int]]:
    """Strongly connected components of more than one node, in the order of their first nodes."""
    pairs = [(source, edge[0]) for source, edges in adjacent.items() for edge in edges]
    if not pairs:
        return []
    sources, targets = np.array(pairs, np.int64).T
    return components_of(sources, targets).sets()


def _doubled(adjacent: _Adjacent) -> _Adjacent:
    """The graph in which no two rw follow each other: node n is 2n, and 2n + 1 if reached by rw."""
    found = _Adjacent()
    for source, edges in adjacent.items():
        for target, kind, number in edges:
            if kind == RELAYED:
                steps = [(source << 1, target << 1), (source << 1 | 1, target << 1 | 1)]
            elif kind == RW:
                steps = [(source << 1, target << 1 | 1)]
            else:
                steps = [(source << 1, target << 1), (source << 1 | 1, target << 1)]
            for begin, end in steps:
                found.setdefault(begin, []).append((end, kind, number))
    return found


def _simple(edges: list[int], graph: Dependencies) -> list[int]:
    """A closed walk cut down to a cycle, where it meets a transaction twice.

    Such a walk has no two rw in a row. The part between two visits may join two at its ends; then
    the rest of the walk does not, so that is taken.
    """
    while True:
        seen: dict[int, int] = {}
        for at, edge in enumerate(edges):
            node = graph.sources[edge]
            if node in seen:
                inner = edges[seen[node] : at]
                outer = edges[: seen[node]] + edges[at:]
                edges = outer if _joins_two_rw(inner, graph) else inner
                break
            seen[node] = at
        else:
            return edges


def _joins_two_rw(edges: list[int], graph: Dependencies) -> bool:
    kinds = [graph.kinds[edge] for edge in edges if graph.kinds[edge] != RELAYED]
    return kinds[0] == RW and kinds[-1] == RW
