"""When brokers of a served cluster act: as in campaigns (reference/partition/sim/pace.py), with one
event for all deadlines of a kind that seldom come.

A fetch is answered long before its timeout; with an event for each, most events of a cluster that
is written to would be timeouts of what is over. All deadlines of such a kind are equally far away,
so that the first is due first; when it is over, the event moves on to the next.
"""

from __future__ import annotations

from typing import Any, Final

from reference.partition.sim.pace import NEVER, Pace
from reference.sim.events import TIMER
from reference.sim.interning import KnownInput

_SELDOM: Final = frozenset({"ReplicaFetchTimeout", "ReplicaLagTimeout", "ControllerRequestTimeout"})


class ServedPace(Pace):
    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self._asleep: set[tuple[int, str]] = set()
        """For which there is an event."""

    def _set(self, node: int, want: KnownInput, due: int) -> None:
        self._due[node][want] = due
        if want.kind in _SELDOM:
            key = node, want.kind
            if key in self._asleep:
                return
            self._asleep.add(key)
        if due < NEVER:
            self._queue.push(due, TIMER, node, want)

    def is_due(self, node: int, want: KnownInput) -> bool:
        found = super().is_due(node, want)
        if want.kind in _SELDOM:
            left = [(at, other) for other, at in self._due[node].items() if other.kind == want.kind]
            if left:
                at, other = min(left, key=lambda each: each[0])
                self._queue.push(at, TIMER, node, other)
            else:
                self._asleep.discard((node, want.kind))
        return found
