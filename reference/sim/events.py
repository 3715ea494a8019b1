"""What is going to happen: a heap of events, ordered by virtual time and then by when they came.

An event is a plain tuple (time, order, kind, node, what), since the heap compares and moves more
of them than anything else in a run. `order` is unique, so no comparison reaches further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any, TypeAlias

DELIVER, TIMER, CALL = 0, 1, 2
"""A message reaches `node`; a timer of `node` may be due; `what` is called with `node`."""

Event: TypeAlias = tuple[int, int, int, int, Any]


class Queue:
    __slots__ = ("heap", "order")

    def __init__(self) -> None:
        self.heap: list[Event] = []
        self.order = 0

    def push(self, time: int, kind: int, node: int, what: Any) -> None:
        self.order += 1
        heappush(self.heap, (time, self.order, kind, node, what))


class EventLoop:
    """One event after the other, until somebody ends it. Time is in virtual microseconds."""

    queue: Queue
    now = 0
    over = False
    verdict = ""

    def deliver(self, node: int, message: Any) -> None:
        """A message reaches a node."""
        raise NotImplementedError

    def ring(self, node: int, timer: Any) -> None:
        """A timer of a node may be due."""
        raise NotImplementedError

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None:
        """Calls `what(argument)` after `delay` microseconds."""
        self.queue.push(self.now + delay, CALL, argument, what)

    def happen(self, due: int, kind: int, node: int, what: Any) -> None:
        """An event, which is due now."""
        self.now = due
        if kind == DELIVER:
            self.deliver(node, what)
        elif kind == TIMER:
            self.ring(node, what)
        else:
            what(node)

    def run_events(self, most: int) -> None:
        """All events until somebody ends it, at most this number of them.

        It does itself what `happen` does, since there are more events than steps.
        """
        heap, deliver, ring = self.queue.heap, self.deliver, self.ring
        for _ in range(most):
            if self.over:
                return
            self.now, _, kind, node, what = heappop(heap)
            if kind == DELIVER:
                deliver(node, what)
            elif kind == TIMER:
                ring(node, what)
            else:
                what(node)
        self.endless(most)

    def endless(self, most: int) -> None:
        """This number of events have come, and nobody has ended it: that is the verdict."""
        self.end(f"{most} events without an end")

    def end(self, verdict: str) -> None:
        if not self.over:
            self.over = True
            self.verdict = verdict

    def queues(self) -> Sequence[Queue]:
        return (self.queue,)
