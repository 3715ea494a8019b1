"""Walks from one state that take every edge of a graph, in the fewest moves that any can.

A walk begins at the start state and may end anywhere. Taking each required edge at least once is a
flow with lower bounds: let f(e) >= 1 say how often e is taken, then the walks are a decomposition
of f, and what is minimised is

    moves + restart_cost * walks          moves = sum of f, walks = units that leave the start state

That is a transportation problem (the Chinese postman with restarts): with f = 1 everywhere, a state
that more required edges leave than enter lacks visits; one that more enter has walks to spare,
which may end there or go on. Missing visits are brought from spare ones or from the start state
along shortest paths. It is solved by the primal-dual method: shortest distances in the residual
graph, then as much flow as goes along shortest paths, until nothing is missing; there are as many
rounds as there are different distances, and distances are small.

The method ends with a potential for each state. `certified` computes from it a lower bound on the
objective of any set of walks, by weak duality and nothing else: equality proves the optimum without
trust in the search that found it.

Where only some edges are required, the flow may leave circuits that no walk touches. Each then gets
a walk of its own, which the bound does not know of: `Cover.moves` less the bound is the stated gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tla_utils.errors import ToolError


@dataclass(frozen=True, slots=True)
class Cover:
    walks: list[list[int]]
    """Each a list of edge numbers."""
    moves: int
    """Their lengths together."""
    bound: int
    """No set of walks has a smaller moves + restart_cost * walks (certified by potentials)."""
    restart_cost: int
    """As given."""

    @property
    def objective(self) -> int:
        return self.moves + self.restart_cost * len(self.walks)

    @property
    def gap(self) -> int:
        return self.objective - self.bound


def cover_edges(
    states: int,
    source: Sequence[int],
    target: Sequence[int],
    start: int = 0,
    required: Iterable[int] | None = None,
    restart_cost: int = 1,
) -> Cover:
    """Find walks from `start` that take every required edge.

    Args:
        states: number of states, which are numbered from 0.
        source: the source of each edge.
        target: the target of each edge.
        start: the state in which every walk begins.
        required: numbers of edges; by default all.
        restart_cost: the cost of a further walk, in moves.

    Raises:
        ToolError: there is nothing to cover, or an edge is unreachable.
    """
    wanted = sorted(set(range(len(source)) if required is None else required))
    if not wanted:
        raise ToolError("there are no edges to cover: an empty cover shows nothing")
    for edge in wanted:
        if not (0 <= source[edge] < states and 0 <= target[edge] < states):
            raise ToolError(f"the edge {edge} joins states that the graph does not have")
    problem = Problem(states, source, target, start, wanted, restart_cost)
    taken, price = _solved(problem)
    walks = _walks(problem, taken)
    return Cover(walks, sum(map(len, walks)), certified(problem, price), restart_cost)


@dataclass(frozen=True, slots=True)
class Problem:
    """A graph by its edges, where walks start, and which edges they must take."""

    states: int
    source: Sequence[int]
    target: Sequence[int]
    start: int
    wanted: Sequence[int]
    restart_cost: int

    def balance(self) -> list[int]:
        """For each state, how many more wanted edges enter it than leave it."""
        balance = [0] * self.states
        for edge in self.wanted:
            balance[self.target[edge]] += 1
            balance[self.source[edge]] -= 1
        return balance


def certified(problem: Problem, price: Sequence[int]) -> int:
    """Return a lower bound of moves + restart_cost * walks, if all wanted edges are taken.

    Weak duality: let p(v) >= 0 be such that p(start) is at most restart_cost, and p(v) <= p(u) + 1
    along each edge u -> v. Along a walk, p rises by at most 1 with each move. So the number of
    moves of all walks other than along wanted edges is at least the rise of p there. Since there is
    at least one walk, and each ends at some p >= 0,

        moves + restart_cost * walks >=
            wanted + sum over wanted edges u -> v of p(u) - p(v) + (restart_cost - p(start))

    Args:
        problem: the graph and the wanted edges.
        price: any number for each state.
    """
    p = _feasible(problem, price)
    rise = sum(p[problem.source[e]] - p[problem.target[e]] for e in problem.wanted)
    start = problem.restart_cost - p[problem.start]
    wanted = len(problem.wanted)
    return max(wanted + rise + start, wanted + problem.restart_cost)


def _feasible(problem: Problem, price: Sequence[int]) -> list[int]:
    """The prices cut until they are feasible; those that the solver ends with stay as they are."""
    p = [max(0, value) for value in price]
    p[problem.start] = min(p[problem.start], problem.restart_cost)
    leaving: list[list[int]] = [[] for _ in range(problem.states)]
    for u, v in zip(problem.source, problem.target, strict=True):
        leaving[u].append(v)
    heap = sorted((value, state) for state, value in enumerate(p))
    while heap:
        value, u = heappop(heap)
        for v in leaving[u]:
            if value == p[u] and p[v] > value + 1:
                p[v] = value + 1
                heappush(heap, (value + 1, v))
    return p


class _Network:
    """Arcs with capacities and costs, each beside its reverse: arc a and arc a ^ 1."""

    def __init__(self, nodes: int) -> None:
        self.head: list[int] = []
        self.room: list[int] = []
        self.cost: list[int] = []
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        self.price = [0] * nodes

    def arc(self, tail: int, head: int, room: int, cost: int) -> int:
        number = len(self.head)
        self.head += (head, tail)
        self.room += (room, 0)
        self.cost += (cost, -cost)
        self.leaving[tail].append(number)
        self.leaving[head].append(number + 1)
        return number

    def reprice(self, source: int, sink: int) -> bool:
        """Raises prices by the distance from the source, so that shortest paths cost nothing."""
        head, room, cost, price = self.head, self.room, self.cost, self.price
        far = 1 << 60
        distance = [far] * len(price)
        distance[source] = 0
        heap = [(0, source)]
        while heap:
            d, u = heappop(heap)
            if d > distance[u]:
                continue
            if u == sink:
                break
            base = d + price[u]
            for arc in self.leaving[u]:
                v = head[arc]
                if room[arc] and base + cost[arc] - price[v] < distance[v]:
                    distance[v] = base + cost[arc] - price[v]
                    heappush(heap, (distance[v], v))
        reached = distance[sink]
        if reached == far:
            return False
        for node, d in enumerate(distance):
            price[node] += d if d < reached else reached
        return True

    def augment(self, source: int, sink: int) -> int:
        """As much flow as goes along arcs that cost nothing (Dinic's method)."""
        total = 0
        while level := self._levels(source, sink):
            pointer = [0] * len(level)
            while pushed := self._push(source, sink, level, pointer):
                total += pushed
        return total

    def _admissible(self, arc: int, u: int) -> bool:
        v = self.head[arc]
        return self.room[arc] > 0 and self.cost[arc] + self.price[u] == self.price[v]

    def _levels(self, source: int, sink: int) -> list[int]:
        level = [-1] * len(self.price)
        level[source] = 0
        front = [source]
        for u in front:
            for arc in self.leaving[u]:
                v = self.head[arc]
                if level[v] < 0 and self._admissible(arc, u):
                    level[v] = level[u] + 1
                    if v == sink:
                        return level
                    front.append(v)
        return []

    def _push(self, source: int, sink: int, level: list[int], pointer: list[int]) -> int:
        """One path along rising levels; 0 when there is none left."""
        path: list[int] = []
        u = source
        while u != sink:
            arcs = self.leaving[u]
            while pointer[u] < len(arcs):
                arc = arcs[pointer[u]]
                v = self.head[arc]
                if level[v] == level[u] + 1 and self._admissible(arc, u):
                    path.append(arc)
                    u = v
                    break
                pointer[u] += 1
            else:
                if u == source:
                    return 0
                u = self.head[path.pop() ^ 1]
                pointer[u] += 1
        pushed = min(self.room[arc] for arc in path)
        for arc in path:
            self.room[arc] -= pushed
            self.room[arc ^ 1] += pushed
        return pushed


def _solved(problem: Problem) -> tuple[list[int], list[int]]:
    """How often each edge is taken, and a potential for each state.

    Parallel edges are one arc; what is needed beyond the wanted goes to the first of them.
    """
    source, sink = problem.states, problem.states + 1
    network = _Network(problem.states + 2)
    unbounded = 1 << 40
    first: dict[tuple[int, int], int] = {}
    for edge, (u, v) in enumerate(zip(problem.source, problem.target, strict=True)):
        if u != v:
            first.setdefault((u, v), edge)
    arc_of = [(network.arc(u, v, unbounded, 1), edge) for (u, v), edge in first.items()]
    missing = 0
    for state, over in enumerate(problem.balance()):
        if over > 0:
            network.arc(source, state, over, 0)
        elif over < 0:
            network.arc(state, sink, -over, 0)
            missing -= over
    # There is at least one walk, so the first start costs no more than is paid in any case.
    network.arc(source, problem.start, 1, 0)
    network.arc(source, problem.start, unbounded, problem.restart_cost)
    while missing:
        if not network.reprice(source, sink):
            raise ToolError("an edge that is to be covered cannot be reached from the start")
        missing -= network.augment(source, sink)
    taken = [0] * len(problem.source)
    for edge in problem.wanted:
        taken[edge] += 1
    for arc, edge in arc_of:
        taken[edge] += network.room[arc ^ 1]
    return taken, network.price[: problem.states]


def _walks(problem: Problem, taken: list[int]) -> list[list[int]]:
    """The flow as walks: circuits of the graph in which every end leads back to the start."""
    leaving: list[list[int]] = [[] for _ in range(problem.states)]
    over = [0] * problem.states
    for edge in range(len(taken) - 1, -1, -1):
        if taken[edge]:
            leaving[problem.source[edge]].append(edge)
            over[problem.target[edge]] += taken[edge]
            over[problem.source[edge]] -= taken[edge]
    left = list(taken)
    ends = [over[state] if state != problem.start else 0 for state in range(problem.states)]
    walks = [w for w in _circuit(problem, problem.start, leaving, left, ends) if w]
    ways: list[list[int]] | None = None
    for edge in problem.wanted:
        if left[edge]:
            # A circuit that no walk touches: it gets a walk of its own.
            ways = ways if ways is not None else _ways(problem)
            (round_trip,) = _circuit(problem, problem.source[edge], leaving, left, ends)
            walks.append([*ways[problem.source[edge]], *round_trip])
    return walks


def _circuit(
    problem: Problem, begin: int, leaving: list[list[int]], left: list[int], ends: list[int]
) -> list[list[int]]:
    """An Eulerian circuit from `begin` (Hierholzer), cut wherever it jumps back to the start."""
    jump = -1
    stack: list[tuple[int, int]] = [(begin, jump)]
    circuit: list[int] = []
    while stack:
        state, by = stack[-1]
        edges = leaving[state]
        while edges and not left[edges[-1]]:
            edges.pop()
        if edges:
            edge = edges[-1]
            left[edge] -= 1
            stack.append((problem.target[edge], edge))
        elif ends[state] > 0:
            ends[state] -= 1
            stack.append((problem.start, jump))
        else:
            circuit.append(by)
            stack.pop()
    walks: list[list[int]] = [[]]
    for edge in reversed(circuit[:-1]):
        if edge == jump:
            walks.append([])
        else:
            walks[-1].append(edge)
    if len(walks) > 1:
        # What comes back to the start by an edge goes on as the first walk.
        walks[0] = walks.pop() + walks[0]
    return walks


def _ways(problem: Problem) -> list[list[int]]:
    """A shortest way from the start to each state, as edges."""
    leaving: list[list[int]] = [[] for _ in range(problem.states)]
    for edge, u in enumerate(problem.source):
        leaving[u].append(edge)
    by = {problem.start: -1}
    front = [problem.start]
    for u in front:
        for edge in leaving[u]:
            if problem.target[edge] not in by:
                by[problem.target[edge]] = edge
                front.append(problem.target[edge])
    ways: list[list[int]] = []
    for state in range(problem.states):
        way: list[int] = []
        at = state
        while by.get(at, -1) >= 0:
            way.append(by[at])
            at = problem.source[by[at]]
        ways.append(way[::-1])
    return ways
