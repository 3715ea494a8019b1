"""When brokers act by themselves: fetchers, heartbeats, the ISR manager, timeouts, flushes.

Law of this file: what a broker may do next is in its state (`State.wants`); here is only when. Each
want has one deadline per broker, set when the want first appears and dropped when it is gone. As in
clock.py, a deadline that comes finds out by itself whether it still holds.

A fetch that would find nothing waits, as it would have waited at the leader; `news` ends the wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.sim.scenario import Paces
from kraftcheck.reference.partition.types import BrokerRow, is_up
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import TIMER, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State

FETCH = "SendReplicaFetch"
STANDS_STILL = {"slow": FETCH, "silent": "SendHeartbeat"}
"""Which activity an episode of this name stops."""


class PaceEnvironment(Protocol):
    now: int

    def row(self, node: int) -> BrokerRow: ...


class Pace:
    """The activities of all brokers of one run."""

    def __init__(
        self,
        brokers: Sequence[int],
        paces: Paces,
        options: PartitionOptions,
        stream: Stream,
        queue: Queue,
        world: PaceEnvironment,
    ) -> None:
        self._paces = paces
        self._flush_us = 1000 * options.flush_ms
        self._stream = stream
        self._queue = queue
        self._world = world
        self._brokers = brokers
        self._due: dict[int, dict[KnownInput, int]] = {b: {} for b in brokers}
        self._seen: dict[int, tuple[KnownInput, ...] | None] = dict.fromkeys(brokers)
        """The wants for which deadlines are set, if for exactly these."""
        self._until: dict[tuple[int, str], int] = {}
        """Until when an activity of a broker stands still."""
        self._plain = {
            "SendRegistration": 1000 * paces.registration,
            "ControllerRequestTimeout": 1000 * paces.controller_request,
            "SendAlterPartition": 1000 * options.alter_ms,
            "SendAssignReplicasToDirs": 1000 * paces.controller_request,
            "ReplicaFetchTimeout": 1000 * paces.fetch_timeout,
            "ReplicaLagTimeout": 1000 * paces.lag,
            "CheckpointHighWatermark": 1000 * paces.checkpoint,
            "ProduceTimeout": 1000 * paces.produce,
        }
        """Delays that are always the same, in virtual microseconds."""

    def look(self, node: int, state: State) -> None:
        """Sets deadlines for what the broker has begun to want, and drops those of the rest."""
        wants = self.wants(node, state)
        if wants is self._seen[node]:
            return
        self._seen[node] = wants
        due = self._due[node]
        for want in wants:
            if want not in due:
                self._set(node, want, self._world.now + self._delay(node, state, want))
        if len(due) > len(wants):
            for gone in [want for want in due if want not in wants]:
                del due[gone]

    def wants(self, node: int, state: State) -> tuple[KnownInput, ...]:
        """What there are to be deadlines for."""
        return state.wants

    def _set(self, node: int, want: KnownInput, due: int) -> None:
        self._due[node][want] = due
        if due < NEVER:
            self._queue.push(due, TIMER, node, want)

    def _delay(self, node: int, state: State, want: KnownInput) -> int:
        """In virtual microseconds."""
        kind, paces = want.kind, self._paces
        plain = self._plain.get(kind)
        if plain is not None:
            return plain
        row: BrokerRow = state.row
        if kind == FETCH:
            return 1000 * self._fetch_delay(node, row)
        if kind == "SendHeartbeat":
            idle = row.status == "Running"
            return 1000 * (paces.heartbeat if idle else paces.heartbeat_starting)
        if kind == "IsrShrinkTimeout":
            return 1000 * paces.isr_check * (1 + self._stream.below(4))
        assert kind == "BrokerFlush", kind
        return self._flush_us * (1 + self._stream.below(4)) // 4 if self._flush_us else NEVER

    def _fetch_delay(self, node: int, row: BrokerRow) -> int:
        leader = self._world.row(row.leader)
        if not is_up(leader) or leader.role != "Leader":
            return self._paces.fetch_backoff
        return self._fetch_wait(node, row, leader)

    def _fetch_wait(self, node: int, row: BrokerRow, leader: BrokerRow) -> int:
        """Say how long a fetch would wait at the leader.

        It is answered at once where the leader has something to tell, or would learn something.
        """
        paces, end = self._paces, len(row.log)
        if len(leader.log) != end or leader.log_start > row.log_start:
            return paces.fetch
        told = leader.remotes[self._brokers.index(node)]
        if told.end_offset != end or told.broker_epoch != row.broker_epoch:
            return paces.fetch
        if row.leader_epoch != leader.leader_epoch:
            return paces.fetch
        if leader.high_watermark > row.high_watermark:
            return paces.fetch_watermark
        return paces.fetch_max_wait

    def news(self, leader: int) -> None:
        """The leader has something to tell: whoever waits for it waits no longer."""
        now, told = self._world.now, self._world.row(leader)
        for node in self._brokers:
            for want, due in self._due[node].items():
                if want.kind != FETCH:
                    continue
                row = self._world.row(node)
                if row.leader == leader:
                    soon = now + 1000 * self._fetch_wait(node, row, told)
                    if soon < due:
                        self._set(node, want, soon)
                break

    def is_due(self, node: int, want: KnownInput) -> bool:
        """Whether the event that has come is the deadline of a want; it is then no longer set."""
        due, now = self._due[node], self._world.now
        if due.get(want) != now:
            return False
        until = self._until.get((node, want.kind), 0)
        if until > now:
            self._set(node, want, until)
            return False
        del due[want]
        self._seen[node] = None
        return True

    def stand_still(self, node: int, what: str, lasts: int) -> None:
        """An activity of the broker does nothing for so many virtual microseconds."""
        key = (node, STANDS_STILL[what])
        self._until[key] = max(self._until.get(key, 0), self._world.now + lasts)

    def heal(self) -> None:
        """From now on nothing stands still."""
        self._until.clear()
        now = self._world.now
        for node, due in self._due.items():
            for want, at in list(due.items()):
                if want.kind in STANDS_STILL.values() and at > now + 1000:
                    self._set(node, want, now + 1000)


NEVER = 1 << 62
