"""G1c: committed transactions that read from each other in a circle [Adya, "Weak Consistency"]."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kraftcheck.traces.checkers.columns import Ints, indices
from kraftcheck.traces.checkers.fates import Fates
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.transactions import NONE, Transactions

if TYPE_CHECKING:
    import networkx as nx


def circles(f: Fates) -> Broken:
    """One for each set of transactions that read from each other.

    Who reads from a transaction that asked for its commit earlier closes no circle. So each circle
    has a read from one that asked later, and lies within the times that such reads span: only there
    is it searched for.
    """
    # Late, because it takes a fifth of a second that most histories need not spend.
    import networkx as nx

    t = f.t
    writer, reader, poll = _reads_from(f)
    asked = t.ends.asked
    rank = np.empty(len(asked), np.int64)
    rank[np.argsort(asked, kind="stable")] = np.arange(len(asked))
    back = rank[writer] > rank[reader]
    depth = np.zeros(len(asked) + 1, np.int64)
    np.add.at(depth, rank[reader[back]], 1)
    np.add.at(depth, rank[writer[back]] + 1, -1)
    within = np.cumsum(depth)[rank] > 0
    some = indices(within[reader])
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_edges_from(zip(writer[some].tolist(), reader[some].tolist(), strict=True))
    circles = sorted(
        sorted(each) for each in nx.strongly_connected_components(graph) if len(each) > 1
    )
    return Broken("G1c", circles, partial(_circle, t, graph, (writer, reader, poll)))


def _reads_from(f: Fates) -> tuple[Ints, Ints, Ints]:
    """Which transaction wrote what another one read, and the fetch."""
    t = f.t
    rows = indices((f.sender != NONE) & (t.shown.poll != NONE))
    poll = t.shown.poll[rows]
    writer, reader = t.sends.transaction[f.sender[rows]], t.polls.transaction[poll]
    some = (reader != NONE) & (reader != writer)
    return writer[some], reader[some], poll[some]


def _circle(
    t: Transactions,
    graph: nx.DiGraph[int],
    reads: tuple[Ints, Ints, Ints],
    among: list[int],
) -> Evidence:
    """The shortest circle through the first of a set; two of its reads, and all by number."""
    import networkx as nx

    inner, first = graph.subgraph(among), among[0]
    paths = nx.single_source_shortest_path(inner, first)
    around = min((paths[each] for each in inner.predecessors(first)), key=len)
    writer, reader, poll = reads
    fetches = []
    for before, after in zip(around, [*around[1:], around[0]], strict=True):
        found = indices((writer == before) & (reader == after))[0]
        fetches.append(int(t.polls.operation[poll[found]]))
    numbers = " -> ".join(str(t.ends.number[each]) for each in [*around, around[0]])
    said = f"transactions read from each other in a circle: {numbers}"
    return tuple(fetches[:2]), said, None
