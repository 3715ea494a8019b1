"""Say when brokers of a served cluster act.

They act as in campaigns (reference/partition/sim/pace.py), but fetches wait at the leader, and all
deadlines of a kind that seldom come share one event.

*Fetches.* One that finds nothing is kept, as in Kafka (W10, DelayedFetch), until there is something
to tell, or for so long. In the reference a fetch is one step, and does not wait. So the answer that
says nothing is one that the network has not delivered yet; where there is something to tell, it is
lost, and the request arrives once more, which a network may do to any message. A follower then
takes four steps for a batch, where it would take six if it came and asked anew.

*Deadlines.* A fetch is answered long before its timeout; with an event for each, most events of a
cluster that is written to would be timeouts of what is over. All deadlines of such a kind are
equally far away, so that the first is due first; when it is over, the event moves on to the next.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kraftcheck.reference.partition.log import NO_DIVERGENCE
from kraftcheck.reference.partition.messages import ReplicaFetchResponse
from kraftcheck.reference.partition.sim.pace import FETCH, NEVER, Pace
from kraftcheck.reference.partition.types import BrokerRow, is_up
from kraftcheck.reference.sim.events import CALL, TIMER
from kraftcheck.reference.sim.interning import KnownInput

_SELDOM: Final = frozenset({"ReplicaFetchTimeout", "ReplicaLagTimeout", "ControllerRequestTimeout"})


class Parked(NamedTuple):
    """A fetch that waits."""

    leader: int
    answer: KnownInput
    """What it is told if nothing happens until it is due."""
    due: int


class ServedPace(Pace):
    _world: Any

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self._asleep: dict[int, set[str]] = {broker: set() for broker in self._brokers}
        """Of each broker the kinds for which there is an event."""
        self._parked: dict[int, Parked] = {}
        """By follower, whose fetch waits."""
        self._rings: dict[int, int] = {}
        """By leader, when it looks at what waits."""

    # --- Fetches

    def _fetch_delay(self, node: int, row: BrokerRow) -> int:
        leader: BrokerRow = self._world.row(row.leader)
        leads = is_up(leader) and leader.role == "Leader"
        return self._paces.fetch if leads else self._paces.fetch_backoff

    def parks(self, leader: int, answer: KnownInput) -> bool:
        """Whether a fetch waits at the leader, which has taken the step that answers it."""
        told: ReplicaFetchResponse = answer.value
        if told.records or told.error != "NONE" or told.diverging != NO_DIVERGENCE:
            return False
        world, follower = self._world, told.destination
        row: BrokerRow = world.row(follower)
        if told.high_watermark > row.high_watermark:
            return False
        wait = self._fetch_wait(follower, row, world.row(leader))
        if wait == self._paces.fetch:
            return False
        due = world.now + 1000 * wait
        self._parked[follower] = Parked(leader, answer, due)
        self._ring(leader, due)
        return True

    def news(self, leader: int) -> None:
        """The leader has something to tell: fetches that wait for it arrive once more."""
        parked, world, now = self._parked, self._world, self._world.now
        if len(parked) < len(self._brokers) - 1:
            super().news(leader)
        row: BrokerRow = world.row(leader)
        end = len(row.log)
        for follower, (at, answer, due) in list(parked.items()):
            if at != leader:
                continue
            told: BrokerRow = world.row(follower)
            is_behind = len(told.log) != end
            wait = 0 if is_behind else self._fetch_wait(follower, told, row)
            if is_behind or wait == self._paces.fetch:
                del parked[follower]
                world.arrives(leader, answer.value.request)
            elif now + 1000 * wait < due:
                due = now + 1000 * wait
                parked[follower] = Parked(at, answer, due)
                self._ring(leader, due)

    def _ring(self, leader: int, due: int) -> None:
        if due < self._rings.get(leader, NEVER):
            self._rings[leader] = due
            self._queue.push(due, CALL, leader, self.answer)

    def answer(self, leader: int) -> None:
        """Fetches that have waited for long enough are answered, some of them by what is new."""
        world, now = self._world, self._world.now
        if self._rings.get(leader) != now:
            return
        del self._rings[leader]
        for follower, (at, answer, due) in list(self._parked.items()):
            if at != leader:
                continue
            if due > now:
                self._ring(leader, due)
                continue
            del self._parked[follower]
            if world.row(leader).high_watermark > world.row(follower).high_watermark:
                world.arrives(leader, answer.value.request)
            else:
                world.network.send(now, leader, ((follower, answer),))

    def give_up(self, broker: int) -> None:
        """Give up the lost fetches of a broker and to it.

        Their senders know it by their own end, or that of the connection.
        """
        now = self._world.now
        for node, due in self._due.items():
            for want in due:
                if want.kind == "ReplicaFetchTimeout":
                    asked = want.value.request
                    if broker in (asked.source, asked.destination):
                        due[want] = now
                        self._queue.push(now, TIMER, node, want)

    # --- Deadlines

    def is_usual(self, follower: int, row: BrokerRow, until: int) -> bool:
        """Say whether a fetch that is answered by records changes only this follower's deadline.

        Until it asks again.
        """
        return (
            len(row.fetching) == 1
            and row.flushed < len(row.log)
            and row.checkpoint != row.high_watermark
            and "ReplicaFetchTimeout" in self._asleep[follower]
            and self._until.get((follower, FETCH), 0) <= until
        )

    def asks_again(
        self, follower: int, wants: tuple[KnownInput, ...], timeout: KnownInput
    ) -> tuple[KnownInput, ...]:
        """Its fetch was answered, and the next one has this timeout. What it wants now."""
        due = self._due[follower]
        at = 0
        while wants[at].kind != timeout.kind:
            at += 1
        del due[wants[at]]
        due[timeout] = self._world.now + 1000 * self._paces.fetch_timeout
        return (*wants[:at], timeout, *wants[at + 1 :])

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
        if self._rings.get(node, NEVER) < now:
            self._rings[node] = now

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
