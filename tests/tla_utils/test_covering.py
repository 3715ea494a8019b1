"""Walks that take every edge: they do, in as few moves as networkx finds; the bound is honest."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from tla_utils import ToolError
from tla_utils.covering import Problem, certified, cover_edges

Edges = list[tuple[int, int]]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    """A graph in which every state can be reached from 0, with loops and parallel edges."""
    states = draw(st.integers(2, 7))
    edges = [(draw(st.integers(0, v - 1)), v) for v in range(1, states)]
    more = st.tuples(st.integers(0, states - 1), st.integers(0, states - 1))
    return states, edges + draw(st.lists(more, max_size=10))


def least_objective(states: int, edges: Edges, restart: int) -> int:
    """The dumb twin: the same transportation problem, solved by networkx's network simplex."""
    balance = [0] * states
    for u, v in edges:
        balance[u] -= 1
        balance[v] += 1
    graph: nx.DiGraph[object] = nx.DiGraph()
    graph.add_node("supply", demand=sum(b for b in balance if b < 0))
    for state, b in enumerate(balance):
        graph.add_node(state, demand=max(0, -b))
        if b > 0:
            graph.add_edge("supply", ("spare", state), capacity=b, weight=0)
            graph.add_edge(("spare", state), state, weight=0)
    for u, v in edges:
        if u != v:
            graph.add_edge(u, v, weight=1)
    graph.add_edge("supply", "first", capacity=1, weight=0)
    graph.add_edge("first", 0, weight=0)
    graph.add_edge("supply", "later", weight=restart)
    graph.add_edge("later", 0, weight=0)
    return int(nx.network_simplex(graph)[0]) + len(edges) + restart


def taken_by(walks: Sequence[Sequence[int]], source: list[int], target: list[int]) -> set[int]:
    """The edges of walks, each of which goes on from 0 where the edge before has led."""
    taken = set()
    for walk in walks:
        at = 0
        for edge in walk:
            assert source[edge] == at
            at = target[edge]
            taken.add(edge)
    return taken


@given(graphs(), st.sampled_from([0, 1, 3, 40]))
def test_every_edge_is_taken_in_as_few_moves_as_possible(
    graph: tuple[int, Edges], restart: int
) -> None:
    states, edges = graph
    source, target = [u for u, _ in edges], [v for _, v in edges]
    cover = cover_edges(states, source, target, restart_cost=restart)
    assert taken_by(cover.walks, source, target) == set(range(len(edges)))
    assert cover.moves == sum(map(len, cover.walks))
    assert cover.objective == cover.bound == least_objective(states, edges, restart)


@given(graphs(), st.lists(st.integers(-3, 9), min_size=7, max_size=7))
def test_the_bound_holds_whatever_the_prices(graph: tuple[int, Edges], price: list[int]) -> None:
    """Weak duality: prices that somebody made up never give a bound that is beaten."""
    states, edges = graph
    source, target = [u for u, _ in edges], [v for _, v in edges]
    problem = Problem(states, source, target, 0, range(len(edges)), 2)
    assert certified(problem, price[:states]) <= least_objective(states, edges, 2)


@given(graphs(), st.data())
def test_only_what_is_required_is_covered(graph: tuple[int, Edges], data: st.DataObject) -> None:
    states, edges = graph
    wanted = data.draw(st.sets(st.integers(0, len(edges) - 1), min_size=1))
    source, target = [u for u, _ in edges], [v for _, v in edges]
    cover = cover_edges(states, source, target, 0, wanted)
    assert wanted <= taken_by(cover.walks, source, target)
    assert cover.gap >= 0


def test_a_circle_that_no_walk_touches_is_walked_to() -> None:
    source, target = [0, 1, 2, 3], [1, 2, 3, 2]
    (walk,) = cover_edges(4, source, target, 0, {2, 3}).walks
    assert walk[:2] == [0, 1] and {*walk[2:]} == {2, 3}


def test_nothing_to_cover_and_no_way_are_errors() -> None:
    with pytest.raises(ToolError, match="no edges to cover"):
        cover_edges(1, [], [])
    with pytest.raises(ToolError, match="cannot be reached"):
        cover_edges(3, [0, 2], [1, 1])
