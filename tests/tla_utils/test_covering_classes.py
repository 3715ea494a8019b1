"""Walks that take an edge of each class are walks, miss none, and are never below the bound."""

from __future__ import annotations

from itertools import permutations, product

import pytest
from hypothesis import given, strategies as st

from tla_utils import ToolError
from tla_utils.covering_classes import cover_classes, least_moves

EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9)
FAR = 1 << 20


def distances(edges: list[tuple[int, int]]) -> list[list[int]]:
    far = [[0 if u == v else FAR for v in range(5)] for u in range(5)]
    for u, v in edges:
        far[u][v] = min(far[u][v], 1)
    for k, u, v in product(range(5), repeat=3):
        far[u][v] = min(far[u][v], far[u][k] + far[k][v])
    return far


def fewest(edges: list[tuple[int, int]], classes: list[list[int]]) -> int:
    """Moves and walks of the best set of walks, by trying all choices, orders and restarts."""
    far = distances(edges)
    best = FAR
    for chosen in product(*classes):
        for order in permutations(dict.fromkeys(chosen)):
            cost, at = 1, 0
            for number, edge in enumerate(order):
                on = far[at][edges[edge][0]]
                anew = far[0][edges[edge][0]] + 1 if number else FAR
                cost += min(on, anew) + 1
                at = edges[edge][1]
            best = min(best, cost)
    return best


@given(edges=EDGES, data=st.data())
def test_walks_take_every_class_and_the_bound_is_one(
    edges: list[tuple[int, int]], data: st.DataObject
) -> None:
    far = distances(edges)
    near = [number for number, (u, _) in enumerate(edges) if far[0][u] < FAR]
    if not near:
        return
    of = data.draw(st.lists(st.integers(0, 2), min_size=len(near), max_size=len(near)))
    groups = [[n for n, group in zip(near, of, strict=True) if group == each] for each in range(3)]
    classes = [group for group in groups if group]
    source, target = [u for u, _ in edges], [v for _, v in edges]
    cover = cover_classes(5, source, target, 0, classes)
    for walk in cover.walks:
        at = 0
        for edge in walk:
            assert source[edge] == at
            at = target[edge]
    taken = {edge for walk in cover.walks for edge in walk}
    assert all(taken & set(each) for each in classes)
    assert cover.moves == sum(map(len, cover.walks))
    best = fewest(edges, classes)
    assert cover.bound <= best <= cover.objective


def test_the_nearest_edge_of_a_class_is_taken_and_another_walk_where_it_is_cheaper() -> None:
    # A line of six states, and an edge aside at its beginning.
    source, target = [0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 6]
    both = cover_classes(7, source, target, 0, [[4, 1], [5]])
    assert both.walks == [[5], [0, 1]] and both.bound == 1 + 2 and both.gap == 2
    line = cover_classes(7, source, target, 0, [[1], [4]])
    assert line.walks == [[0, 1, 2, 3, 4]] and line.gap == 0
    # Three moves on, where another walk costs two.
    aside = cover_classes(6, [0, 1, 2, 3, 0], [1, 2, 3, 4, 5], 0, [[0], [3, 4]])
    assert aside.walks == [[0], [4]]


def test_the_last_edge_of_a_ring_takes_as_many_moves_as_there_are_states() -> None:
    assert cover_classes(3, [0, 1, 2], [1, 2, 0], 0, [[2]]).walks == [[0, 1, 2]]


def test_the_bound_counts_how_late_classes_can_be_taken() -> None:
    assert least_moves([1]) == 1
    assert least_moves([1, 1, 1]) == 3
    assert least_moves([5, 5, 2]) == 6


def test_nothing_to_take_and_no_way_to_it_are_refused() -> None:
    with pytest.raises(ToolError, match="no edges to cover"):
        cover_classes(2, [0], [1], 0, [])
    with pytest.raises(ToolError, match="the edge 0 is of two classes"):
        cover_classes(2, [0], [1], 0, [[0], [0]])
    with pytest.raises(ToolError, match="cannot be reached"):
        cover_classes(3, [0, 2], [1, 0], 0, [[0], [1]])
