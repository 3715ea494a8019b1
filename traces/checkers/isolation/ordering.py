"""A serial order of transactions over registers that explains every read, or why there is none.

Dependencies that are known leave open in which order blind writes happened. So an order is tried:
one that keeps all dependencies, and else follows the times of answers. Where a read finds another
version there than it returned, the writer of that version belongs after the reader, or before the
writer of the version that was read. If known dependencies exclude one of the two, the other one is
a dependency as well. Where both are possible one is guessed; a contradiction takes back the last
guess, and without a guess there is no order. A search that takes too much work is *unknown*.

An order that is found is a proof: it is executed, and every read returns what was recorded.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.isolation.dependencies import Dependencies
from kraftcheck.traces.checkers.isolation.registers import Outside, outside_of
from kraftcheck.traces.checkers.isolation.transactions import Transaction
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED

WORK_MAX: Final = 20_000_000
"""Edges that the search may look at."""


class Order(NamedTuple):
    """The answer.

    Attributes:
        verdict: holds (there is an order), violated (there is none) or unknown.
        reader: of an order that is impossible, a reader that cannot be placed.
        writer: whose version must be the last one before it.
        other: whose version comes between.
        key: the object.
    """

    verdict: str
    reader: int = -1
    writer: int = -1
    other: int = -1
    key: str | None = None


def serial_order(
    transactions: list[Transaction],
    graph: Dependencies,
    committed: set[int],
    free: Collection[int] = (),
) -> Order:
    """Looks for an order of the committed transactions.

    Args:
        free: kinds of dependencies that it need not keep.
    """
    return _Ordering(transactions, graph, committed, free).run()


class _Ordering:
    def __init__(
        self,
        transactions: list[Transaction],
        graph: Dependencies,
        committed: set[int],
        free: Collection[int],
    ) -> None:
        self.transactions = transactions
        self.committed = sorted(committed)
        self.outside: dict[int, Outside] = {n: outside_of(transactions[n]) for n in committed}
        self.after: list[list[int]] = [[] for _ in range(graph.nodes)]
        for source, target, kind in zip(graph.sources, graph.targets, graph.kinds, strict=True):
            if kind not in free:
                self.after[source].append(target)
        self.edges = len(graph.sources)
        self.work = 0
        self.added: list[tuple[int, int]] = []
        self.guesses: list[tuple[int, tuple[int, int]]] = []
        """Of each guess, how many dependencies were added before it, and its alternative."""

    def run(self) -> Order:
        while self.work < WORK_MAX:
            order = self._sorted()
            wrong = Order(VIOLATED) if order is None else self._first_wrong(order)
            if wrong is None:
                return Order(HOLDS)
            if (order is None or not self._placed(wrong)) and not self._taken_back():
                return wrong
        return Order(UNKNOWN)

    def _taken_back(self) -> bool:
        """Takes back the last guess and tries its alternative; False: nothing was guessed."""
        if not self.guesses:
            return False
        count, alternative = self.guesses.pop()
        while len(self.added) > count:
            first, second = self.added.pop()
            self.after[first].remove(second)
        if self._reaches(alternative[1], alternative[0]):
            return self._taken_back()
        self._add(alternative)
        return True

    def _add(self, dependency: tuple[int, int]) -> None:
        self.added.append(dependency)
        self.after[dependency[0]].append(dependency[1])

    def _sorted(self) -> list[int] | None:
        """A topological order, by the times of answers; None: there is a cycle."""
        self.work += self.edges + len(self.after)
        degree = [0] * len(self.after)
        for targets in self.after:
            for target in targets:
                degree[target] += 1
        ready = [(self._time(node), node) for node in range(len(self.after)) if not degree[node]]
        heapq.heapify(ready)
        order = []
        while ready:
            _, node = heapq.heappop(ready)
            order.append(node)
            for target in self.after[node]:
                degree[target] -= 1
                if not degree[target]:
                    heapq.heappush(ready, (self._time(target), target))
        return order if len(order) == len(self.after) else None

    def _time(self, node: int) -> int:
        if node >= len(self.transactions):
            return -1  # A relay: it is no transaction, and holds nobody up.
        each = self.transactions[node]
        return each.invoked if each.completed is None else each.completed

    def _first_wrong(self, order: list[int]) -> Order | None:
        """The first read in the order that finds another version than it returned."""
        state: dict[str | None, tuple[Any, int]] = {}
        writers = {
            (key, value): number
            for number in self.committed
            for key, value in self.outside[number].writes.items()
        }
        for number in order:
            known = self.outside.get(number)
            if known is None:
                continue
            for key, value in known.reads.items():
                found, other = state.get(key, (None, -1))
                if found != value:
                    writer = -1 if value is None else writers.get((key, value), -2)
                    return Order(VIOLATED, number, writer, other, key)
            for key, value in known.writes.items():
                state[key] = value, number
        return None

    def _placed(self, wrong: Order) -> bool:
        """Adds the dependency that mends a read; False: there is none."""
        reader, writer, other = wrong.reader, wrong.writer, wrong.other
        if writer == -2:
            return False
        if other == -1:
            # The version was not there yet: its writer comes first.
            choices = [(writer, reader)]
        else:
            choices = [(reader, other)]
            if writer >= 0:
                choices.append((other, writer))
                if not self._reaches(writer, reader):
                    choices = [(writer, reader)]
        possible = [(a, b) for a, b in choices if a != b and not self._reaches(b, a)]
        if not possible:
            return False
        if len(possible) > 1:
            self.guesses.append((len(self.added), possible[1]))
        self._add(possible[0])
        return True

    def _reaches(self, begin: int, end: int) -> bool:
        seen, stack = {begin}, [begin]
        while stack:
            node = stack.pop()
            if node == end:
                return True
            self.work += len(self.after[node])
            fresh = [target for target in self.after[node] if target not in seen]
            seen.update(fresh)
            stack += fresh
        return False
