"""What is going to happen: a heap of events, ordered by virtual time and then by when they came.

An event is a plain tuple (time, order, kind, node, what), since the heap compares and moves more
of them than anything else in a run. `order` is unique, so no comparison reaches further.
"""

from __future__ import annotations

from heapq import heappush
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
