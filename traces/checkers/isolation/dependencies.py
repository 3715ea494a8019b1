"""The graph of dependencies between transactions, with the reason for every edge.

    ww   the first wrote a version, the second the next one of the same object
    wr   the second read what the first wrote
    rw   the first read a version, the second wrote the next one (an anti-dependency)
    process    one client made them in this order
    realtime   the first was answered before the second was invoked

Law of this file: the number of edges grows with the history, not with its square. Where each of
many transactions comes before each of many others, a relay stands between: an edge of the kind to
the relay, and a `relayed` one from it, which adds nothing of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.isolation.transactions import Transaction

WW, WR, RW, PROCESS, REALTIME, RELAYED = range(6)
NAMES: Final = ("ww", "wr", "rw", "process", "realtime", "")
RELAYED_FROM: Final = 4
"""Fewer pairs than this many edges for each transaction get no relay."""


class Reason(NamedTuple):
    """Why one transaction comes before another: the object, and the two versions of it."""

    key: str | None = None
    before: Any = None
    after: Any = None


NO_REASON: Final = Reason()


class Dependencies:
    """Edges between the transactions of one history.

    Attributes:
        count: the number of transactions; relays have the numbers from there on.
        sources, targets, kinds, reasons: of each edge.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.nodes = count
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.kinds: list[int] = []
        self.reasons: list[Reason] = []

    def add(self, kind: int, first: int, second: int, reason: Reason = NO_REASON) -> None:
        """Adds an edge. A transaction does not depend on itself."""
        if first != second:
            self.sources.append(first)
            self.targets.append(second)
            self.kinds.append(kind)
            self.reasons.append(reason)

    def add_all(
        self,
        kind: int,
        firsts: Sequence[tuple[int, Any]],
        seconds: Sequence[tuple[int, Any]],
        key: str | None = None,
    ) -> None:
        """Adds an edge from each of some transactions to each of some others.

        Args:
            firsts: transactions, each with the version that it read or wrote.
            seconds: as firsts, of those that come after.
        """
        if len(firsts) * len(seconds) <= RELAYED_FROM * (len(firsts) + len(seconds)):
            for first, before in firsts:
                for second, after in seconds:
                    self.add(kind, first, second, Reason(key, before, after))
            return
        # A relay would lead from a transaction of both sides to itself. Those come before each
        # other, so a ring through them has what matters of their edges.
        after_of = dict(seconds)
        both = [(first, before) for first, before in firsts if first in after_of]
        for (first, before), (second, _) in zip(both, both[1:] + both[:1], strict=True):
            self.add(kind, first, second, Reason(key, before, after_of[second]))
        ringed = {first for first, _ in both}
        self._relay(kind, firsts, [each for each in seconds if each[0] not in ringed], key)
        if ringed:
            rest = [each for each in firsts if each[0] not in ringed]
            self._relay(kind, rest, [(second, after_of[second]) for second in ringed], key)

    def _relay(
        self,
        kind: int,
        firsts: Sequence[tuple[int, Any]],
        seconds: Sequence[tuple[int, Any]],
        key: str | None,
    ) -> None:
        if not firsts or not seconds:
            return
        relay, self.nodes = self.nodes, self.nodes + 1
        for first, before in firsts:
            self.add(kind, first, relay, Reason(key, before))
        for second, after in seconds:
            self.add(RELAYED, relay, second, Reason(key, None, after))

    def add_orders(self, transactions: Iterable[Transaction], committed: set[int]) -> None:
        """Adds the order within each client and that of real time, of committed transactions.

        An edge of real time that follows from two others is left out.
        """
        events: list[tuple[int, int, int]] = []
        last: dict[int, int] = {}
        for each in transactions:
            if each.number not in committed:
                continue
            if each.process in last:
                self.add(PROCESS, last[each.process], each.number)
            last[each.process] = each.number
            # At equal times invocations come first: such transactions are concurrent.
            events.append((each.invoked, 0, each.number))
            if each.completed is not None and each.is_committed:
                events.append((each.completed, 1, each.number))
        events.sort()
        frontier: dict[int, None] = {}
        before: dict[int, tuple[int, ...]] = {}
        for _, completes, number in events:
            if completes:
                for each_before in before.pop(number):
                    frontier.pop(each_before, None)
                frontier[number] = None
            else:
                before[number] = tuple(frontier)
                for each_before in frontier:
                    self.add(REALTIME, each_before, number)
