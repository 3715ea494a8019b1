"""Run several parts by one clock: the earliest event of all is next.

Each part has a queue of its own (clock.py), and so has what lies between them. Of events at one
time, the one whose part stands first is next. What joins the parts is a composition's own: it
follows from what a step of one means for another.

Law of this file: it decides whose turn it is, and nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop
from typing import Any

from kraftcheck.reference.core.run import Whole
from kraftcheck.reference.sim.events import EventLoop, Queue
from kraftcheck.reference.sim.family import Circular
from kraftcheck.reference.sim.recorder import Violation
from kraftcheck.traces.schema import STOPPED

_NEVER = 1 << 62


class JoinedRun(EventLoop, Whole, Circular):
    """One run of several parts. `queue` is that of what lies between them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.queue = Queue()
        self.lanes: list[Any] = []
        """Event loops: parts, and the run itself. The first comes first."""
        self._between: list[Violation] = []

    @property
    def parts(self) -> list[Any]:
        return [lane for lane in self.lanes if lane is not self]

    def run_events(self, most: int) -> None:
        for _ in range(most):
            if self.over:
                return
            due, lane = _NEVER, self.lanes[0]
            for each in self.lanes:
                heap = each.queue.heap
                if heap and heap[0][0] < due:
                    due, lane = heap[0][0], each
            for each in self.lanes:
                each.now = due
            _, _, kind, node, what = heappop(lane.queue.heap)
            lane.happen(due, kind, node, what)
        self.endless(most)

    def end(self, verdict: str) -> None:
        super().end(verdict)
        for part in self.parts:
            part.over = True

    def violated(self, name: str, explanation: str) -> None:
        """What joins the parts is not as it must be."""
        self._between.append(Violation(name, self.steps_taken() - 1, explanation))
        self.end(STOPPED)

    @property
    def violations(self) -> list[Violation]:
        found: list[Violation] = []
        for lane in self.lanes:
            found += self._between if lane is self else lane.violations
        return sorted(found, key=lambda each: each.step)

    @property
    def handler_calls(self) -> int:
        return sum(part.handler_calls for part in self.parts)

    def queues(self) -> Sequence[Queue]:
        return [lane.queue for lane in self.lanes]

    def take_apart(self) -> None:
        parts = self.parts
        super().take_apart()
        for part in parts:
            vars(part).clear()
