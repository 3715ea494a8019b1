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
from reference.sim.memo import State

_SELDOM: Final = frozenset({"ReplicaFetchTimeout", "ReplicaLagTimeout", "ControllerRequestTimeout"})


class ServedPace(Pace):
    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self._asleep: dict[int, set[str]] = {broker: set() for broker in self._brokers}
        """Of each broker the kinds for which there is an event."""

    def look(self, node: int, state: State) -> None:
        due, wants = self._due[node], state.wants
        for want in wants:
            if want not in due:
                self._set(node, want, self._world.now + self._delay(node, state, want))
        left = len(due) - len(wants)
        if left == 1:
            # As after nearly every step; and to look for one alone needs no list.
            for want in due:
                if want not in wants:
                    del due[want]
                    return
        elif left:
            for gone in [want for want in due if want not in wants]:
                del due[gone]

    def _set(self, node: int, want: KnownInput, due: int) -> None:
        self._due[node][want] = due
        kind = want.kind
        if kind in _SELDOM:
            asleep = self._asleep[node]
            if kind in asleep:
                return
            asleep.add(kind)
        if due < NEVER:
            self._queue.push(due, TIMER, node, want)

    def wake(self, node: int) -> None:
        """It stood still: what it would have done meanwhile is due now."""
        due, now = self._due[node], self._world.now
        for want, at in due.items():
            if at < now:
                due[want] = now

    def let(self, node: int, kind: str, does: bool) -> None:
        """Whether a broker does what it wants to of a kind."""
        if not does:
            self._until[node, kind] = NEVER
        elif self._until.pop((node, kind), 0):
            for want in [each for each in self._due[node] if each.kind == kind]:
                self._set(node, want, self._world.now)

    def is_due(self, node: int, want: KnownInput) -> bool:
        found = super().is_due(node, want)
        if want.kind in _SELDOM:
            left = [(at, other) for other, at in self._due[node].items() if other.kind == want.kind]
            if left:
                at, other = min(left, key=lambda each: each[0])
                self._queue.push(at, TIMER, node, other)
            else:
                self._asleep[node].discard(want.kind)
        return found
