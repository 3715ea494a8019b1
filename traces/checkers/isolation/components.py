"""Strongly connected components, in time linear in the edges and without an object for each.

First all nodes without a predecessor are removed, then those that have none any more, and so on
(Kahn): of most histories nothing is left. What is left is searched depth first, with the nodes that
are still open on one stack and the roots of their components on another (Gabow, "Path-based
depth-first search for strong and biconnected components", IPL 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


class Components(NamedTuple):
    """The components of a graph of edges.

    Attributes:
        nodes: all nodes with an edge, in order.
        label: of each of these, its component.
        inside: of each edge, whether both its ends are in one component.
    """

    nodes: Ints
    label: Ints
    inside: npt.NDArray[np.bool_]

    def sets(self) -> list[set[int]]:
        """The components of more than one node, in the order of their first nodes."""
        found: dict[int, set[int]] = {}
        for node, label in zip(self.nodes.tolist(), self.label.tolist(), strict=True):
            found.setdefault(label, set()).add(node)
        return [each for each in found.values() if len(each) > 1]


def components_of(sources: Sequence[int] | Ints, targets: Sequence[int] | Ints) -> Components:
    """The components of the graph with these edges, none of which leads to where it begins."""
    begin, end = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    nodes, both = np.unique(np.concatenate((begin, end)), return_inverse=True)
    begin, end = both[: len(begin)], both[len(begin) :]
    order = np.argsort(begin, kind="stable")
    first = np.searchsorted(begin[order], np.arange(len(nodes) + 1)).tolist()
    label = np.array(_labels(first, end[order].tolist(), np.bincount(end, minlength=len(nodes))))
    return Components(nodes, label, label[begin] == label[end])


def _labels(first: list[int], targets: list[int], predecessors: Ints) -> list[int]:
    """The component of each node. first: where its edges begin among the targets."""
    count = len(first) - 1
    waiting = predecessors.tolist()
    ready = [node for node, number in enumerate(waiting) if not number]
    for node in ready:
        for target in targets[first[node] : first[node + 1]]:
            left = waiting[target] - 1
            waiting[target] = left
            if not left:
                ready.append(target)
    if len(ready) == count:
        return list(range(count))
    label = [-1] * count
    seen = [0] * count
    for node in ready:
        label[node] = node
        seen[node] = 1
    at = first[:]
    open_: list[int] = []
    roots: list[int] = []
    visited = 1
    for start in range(count):
        path = [] if seen[start] else [start]
        while path:
            node = path[-1]
            if not seen[node]:
                visited += 1
                seen[node] = visited
                open_.append(node)
                roots.append(node)
            edge, last = at[node], first[node + 1]
            while edge < last:
                target = targets[edge]
                edge += 1
                if not seen[target]:
                    path.append(target)
                    break
                if label[target] < 0:
                    when = seen[target]
                    while seen[roots[-1]] > when:
                        roots.pop()
            at[node] = edge
            if path[-1] != node:
                continue
            path.pop()
            if roots[-1] == node:
                roots.pop()
                while label[node] < 0:
                    label[open_.pop()] = node
    return label
