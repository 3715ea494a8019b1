"""G1c: committed transactions that read from each other in a circle [Adya, "Weak Consistency"]."""

from __future__ import annotations

from functools import partial

import numpy as np

from kraftcheck.traces.checkers.columns import Ints, indices
from kraftcheck.traces.checkers.fates import Fates
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.isolation.components import components_of
from kraftcheck.traces.checkers.transactions import NONE, Transactions


def circles(f: Fates) -> Broken:
    """One for each set of transactions that read from each other.

    Who reads from a transaction that asked for its commit earlier closes no circle. So each circle
    has a read from one that asked later, and lies within the times that such reads span: only there
    is it searched for.
    """
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
    some = indices(within[writer] & within[reader])
    if not len(some):
        return Broken("G1c", [], partial(_circle, t, (writer, reader, poll)))
    found = sorted(map(sorted, components_of(writer[some], reader[some]).sets()))
    return Broken("G1c", found, partial(_circle, t, (writer, reader, poll)))


def _reads_from(f: Fates) -> tuple[Ints, Ints, Ints]:
    """Which transaction wrote what another one read, and the fetch."""
    t = f.t
    rows = indices((f.sender != NONE) & (t.shown.poll != NONE))
    poll = t.shown.poll[rows]
    writer, reader = t.sends.transaction[f.sender[rows]], t.polls.transaction[poll]
    some = (reader != NONE) & (reader != writer)
    return writer[some], reader[some], poll[some]


def _circle(t: Transactions, reads: tuple[Ints, Ints, Ints], among: list[int]) -> Evidence:
    """The shortest circle through the first of a set; two of its reads, and all by number."""
    writer, reader, poll = reads
    inside = indices(np.isin(writer, among) & np.isin(reader, among))
    edges: dict[int, list[int]] = {}
    for before, after in zip(writer[inside].tolist(), reader[inside].tolist(), strict=True):
        edges.setdefault(before, []).append(after)
    around = _shortest(edges, among[0])
    fetches = []
    for before, after in zip(around, [*around[1:], around[0]], strict=True):
        found = indices((writer == before) & (reader == after))[0]
        fetches.append(int(t.polls.operation[poll[found]]))
    numbers = " -> ".join(str(t.ends.number[each]) for each in [*around, around[0]])
    said = f"transactions read from each other in a circle: {numbers}"
    return tuple(fetches[:2]), said, None


def _shortest(edges: dict[int, list[int]], first: int) -> list[int]:
    """The nodes of a shortest circle through one of them, from that on."""
    came, waiting = {first: first}, [first]
    for node in waiting:
        for target in edges[node]:
            if target == first:
                around = [node]
                while around[-1] != first:
                    around.append(came[around[-1]])
                return around[::-1]
            if target not in came:
                came[target] = node
                waiting.append(target)
    raise AssertionError("a component without a circle")
