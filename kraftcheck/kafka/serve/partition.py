"""A partition of a served cluster: a `PartitionSimulation` whose clients are outside.

Its handlers, the network between brokers, their timers and the controller are those that campaigns
run and TLC judges. Requests come from outside in place of simulated clients, and answers leave at
once; everything else is as there.

Law of this file: no sockets, no real clock, no chance but from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from kraftcheck.kafka.serve.batches import Batch, Ended, marker
from kraftcheck.kafka.serve.pace import ServedPace
from kraftcheck.kafka.serve.unremembered import known
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    NOBODY,
    Input,
    ProduceRequest,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    SendReplicaFetch,
)
from kraftcheck.reference.partition.sim.clients import PROBE
from kraftcheck.reference.partition.sim.machine import (
    LEADERSHIP,
    STATUS,
    WATERMARK,
    PartitionMemo,
    notable,
)
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.sim.pace import NEVER
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.sim.scheduler import PartitionSimulation
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow, Partition, PartitionConstants
from kraftcheck.reference.sim.choices import SeededChooser, Stream, run_seed
from kraftcheck.reference.sim.events import CALL, DELIVER, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.recorder import Recorder, RunResult

FETCH_MAX: Final = 400
"""Batches in one fetch, of a follower or a consumer."""
WATERMARK_MS: Final = 500
"""So late followers ask for a high watermark alone: Kafka's replica.fetch.wait.max.ms, after which
it answers a fetch that has found no records (DelayedFetch)."""
HEARTBEAT_MS: Final = 2000
"""Kafka's broker.heartbeat.interval.ms; a session is longer."""

SERVED: Final = msgspec.structs.replace(
    PARTITION,
    # A produce request says itself for how long it may wait. Where nothing but a high watermark is
    # to be told, the next batch takes it along, if one comes soon. A fetch may have waited at the
    # leader before it is taken for lost. Heartbeats are most of what an idle partition does.
    paces=msgspec.structs.replace(
        PARTITION.paces,
        heartbeat=HEARTBEAT_MS,
        produce=NEVER // 1000 + 1,
        fetch_watermark=WATERMARK_MS,
        fetch_timeout=PARTITION.paces.fetch_max_wait + 500,
    ),
)

LATENCY_US: Final = 1000
"""Of a message between brokers (Network.heal)."""
COPIED_US: Final = LATENCY_US + 1000 * SERVED.paces.fetch
"""From a fetch that is answered to the next one that its follower sends."""
_ASK: Final = SendReplicaFetch()


class Around(Protocol):
    """The world that a partition is in (world.py)."""

    setup: Any
    owner: Any
    now: int
    watched: bool
    partitions_made: int
    paused: set[int]
    until: int
    isolated: set[int]
    agenda: list[Event]
    stirred: bool
    observer: Observer | None

    def memo(self) -> PartitionMemo: ...
    def has_news(self, partition: ServedPartition) -> None: ...
    def lay(
        self, partition: ServedPartition, before: BrokerRow, after: BrokerRow, batch: Batch
    ) -> None: ...


Event: TypeAlias = tuple[int, int, int, Any, int, int, Any]
"""When; of whom, by number; which of theirs; they; and, as of every queue, kind, node and what."""


class Lane(Queue):
    """The events of one of those who share an agenda. At one time the lesser number goes first."""

    __slots__ = ("_agenda", "_number", "_whose")

    def __init__(self, agenda: list[Event], number: int, whose: Any) -> None:
        super().__init__()
        self._agenda = agenda
        self._number = number
        self._whose = whose

    def push(self, time: int, kind: int, node: int, what: Any) -> None:
        self.order = order = self.order + 1
        heappush(self._agenda, (time, self._number, order, self._whose, kind, node, what))


class ServedPartition(PartitionSimulation):
    """A partition whose clients are outside."""

    pace: ServedPace

    def __init__(
        self,
        world: Around,
        topic: ServedTopic,
        index: int,
        constants: PartitionConstants,
        recorder: Recorder,
    ) -> None:
        self.world = world
        self.topic = topic
        self.index = index
        self.number = world.partitions_made
        self.options = PartitionOptions(
            replicas=len(constants.replicas),
            min_insync_replicas=constants.min_insync_replicas,
            unclean=constants.unclean_election,
            fetch_max_records=FETCH_MAX,
            idempotence=False,
            watched=world.watched,
        )
        self.seed = run_seed(world.setup.seed, self.number)
        self.recorder = recorder
        chooser = SeededChooser(self.seed)
        super().__init__(SERVED, self.options, chooser, world.memo(), recorder, constants)
        self._held: list[tuple[int, int, Any]] = []
        """What waits for brokers that stand still: kind, node and what, as in the queue."""
        self.now = world.now
        # Nothing is lost but by command.
        self.network.heal()

    @property
    def handlers(self) -> BrokerHandlers:
        of: BrokerHandlers = self._machine.brokers
        return of

    def make_queue(self) -> Queue:
        return Lane(self.world.agenda, 1 + self.number, self)

    def holds(self, kind: int, node: int, what: Any) -> bool:
        """Whether an event waits, since it is one of a broker that stands still."""
        # What else is called with a broker is the controller's, or nobody's.
        held = node in self.world.paused
        held = held and (kind != CALL or what in (self._read, self.pace.answer))
        if held:
            self._held.append((kind, node, what))
        return held

    def resume(self, broker: int) -> None:
        """It stands still no longer."""
        held, self._held = self._held, []
        self.pace.wake(broker)
        for kind, node, what in held:
            if node == broker:
                self.queue.push(self.now, kind, node, what)
            else:
                self._held.append((kind, node, what))

    def arrives(self, node: int, message: Input) -> None:
        """A message that has arrived already, once more."""
        self.queue.push(self.now, DELIVER, node, self._intern(message))

    def travel(self, node: int, sent: Any) -> None:
        for one in sent:
            message = one[1].value
            if one[0] == CLIENTS and message.request.client != PROBE:
                self.world.stirred = True
                self.world.owner.answered(self, message)
            elif type(message) is not ReplicaFetchResponse or not self.pace.parks(node, one[1]):
                self.network.send(self.now, node, (one,))

    def make_clock(self, stream: Stream) -> ServedPace:
        return ServedPace(self.brokers, self._paces, self._options, stream, self.queue, self)

    def stepped(self, step: Step) -> None:
        if self._progress is not None:
            self._see_probe(step)
        super().stepped(step)
        notable = step.notable
        if notable & (LEADERSHIP | STATUS):
            self.world.has_news(self)
        elif notable & WATERMARK:
            # Of followers nobody waits for more than where their logs begin.
            before, after = step.before.row, step.after.row
            if after.role == "Leader" or after.log_start != before.log_start:
                self.world.has_news(self)

    def _see_probe(self, step: Step) -> None:
        """Note the probe record by which a healed partition shows its progress.

        It is a marker that ends nothing: it takes an offset, and no client is shown it.
        """
        asked = step.input.value
        if isinstance(asked, ProduceRequest) and asked.client == PROBE:
            before, after = step.before.row, step.after.row
            if len(after.log) > len(before.log):
                shown = marker(UNDEFINED, UNDEFINED, Ended("Commit", 0))
                self.world.lay(self, before, after, shown)

    def hears_metadata(self, broker: int, again: bool) -> None:
        """Whether metadata comes to a broker: to one that is cut off, none does."""
        self._stale_until[broker] = 0 if again else NEVER
        if again:
            self._reading[broker] = False
            self._read_soon(broker)

    # --- What a broker knows of it

    def known_to(self, broker: int) -> Partition:
        """The partition as this broker has it from metadata; who does not hold it asks."""
        if broker in self.brokers and self.is_running(broker):
            return self.row(broker).image.partition
        return self.controller.partition

    def is_agreed(self) -> bool:
        """Whether everybody who is up knows the leader that the controller has decided on."""
        decided = self.controller.partition
        if decided.leader == NOBODY or not self.is_running(decided.leader):
            return False
        return all(
            row.leader_epoch == decided.leader_epoch
            and (b != decided.leader or row.role == "Leader")
            for b in self.brokers
            if (row := self.row(b)).status == "Running"
        )

    def result(self) -> RunResult:
        """For the record."""
        return RunResult(
            run=self.number,
            seed=self.seed,
            constants=self.constants,
            options=self.options,
            handler_calls=self.handler_calls,
            verdict=self.verdict,
            violations=self.violations,
            history=self.clients.history,
            statistics=self.statistics(),
        )


class LivePartition(ServedPartition):
    """A partition while clients are served.

    Nobody looks at its steps then, so followers may take several at once. A `ServedPartition` plays
    the tape again, and its answers must be these, byte by byte.
    """

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        # Who is asked runs, and each message is for whom it says.
        self._answer_fetch = self.handlers.handle_replica_fetch_request
        self._take_answer = self.handlers.handle_replica_fetch_response
        self._fetch = self.handlers.handle_send_replica_fetch

    def deliver(self, node: int, message: KnownInput) -> None:
        asked = message.value
        if type(asked) is not ReplicaFetchRequest or not self._copies(node, asked):
            super().deliver(node, message)

    def _copies(self, leader: int, first: ReplicaFetchRequest) -> bool:
        """Let all followers whose fetches are here take what the leader has and ask again.

        The handlers take their steps at the times at which they would be taken, where nothing else
        happens meanwhile. Events and deadlines are set as they are in the end. False: nothing was
        done, and each step is one of its own.
        """
        world, row, now = self.world, self.rows[leader], self.now
        if len(row.log) <= first.fetch_offset or not self.is_running(leader):
            return False
        if world.isolated or world.paused or self._progress is not None:
            return False
        agenda, there = world.agenda, now + COPIED_US
        events, asked = [], [first]
        while agenda and agenda[0][0] == now:
            _, _, _, whose, kind, node, what = agenda[0]
            if whose is not self or kind != DELIVER or node != leader:
                break
            if type(what.value) is not ReplicaFetchRequest:
                break
            events.append(heappop(agenda))
            asked.append(what.value)
        copied = None
        if there <= world.until and not (agenda and agenda[0][0] <= there):
            copied = self._copied(leader, row, asked, there)
        if copied is None:
            for event in events:
                heappush(agenda, event)
            return False
        world.now = self.now = there
        self.handler_calls += 3 * len(copied)
        for follower, after, request in copied:
            wants, timeout = self.state(follower).wants, known(ReplicaFetchTimeout(request))
            self._has(follower, after, self.pace.asks_again(follower, wants, timeout))
        if not self._notes(leader, row, [request for _, _, request in copied]):
            for follower, _, request in copied:
                self.network.send(there, follower, ((leader, known(request)),))
        return True

    def _copied(
        self, leader: int, row: BrokerRow, asked: Sequence[ReplicaFetchRequest], there: int
    ) -> list[tuple[int, BrokerRow, ReplicaFetchRequest]] | None:
        """By follower: its row, and what it asks next. None: not all of it is usual."""
        copied = []
        for request in asked:
            follower, told = request.source, self._answer_fetch(leader, row, request)
            was: BrokerRow = self.rows[follower]
            if told.row is not row or len(told.sent) != 1 or not self.is_running(follower):
                return None
            reply: Any = told.sent[0]
            if not reply.records or not self.pace.is_usual(follower, was, there):
                return None
            taken = self._take_answer(follower, was, reply)
            if taken.sent or taken.row.log is was.log:
                return None
            next = self._fetch(follower, taken.row, _ASK)
            if next is None or next.row.log_start != was.log_start:
                return None
            asks: Any = next.sent[0]
            copied.append((follower, next.row, asks))
        return copied

    def _notes(self, leader: int, row: BrokerRow, asked: Sequence[ReplicaFetchRequest]) -> bool:
        """The leader notes how far they are, and answers none of them.

        Only the last may be what somebody waits for, and is a step of its own.
        """
        world, there = self.world, self.now + LATENCY_US
        if there > world.until or (world.agenda and world.agenda[0][0] <= there):
            return False
        replies = []
        for request in asked[:-1]:
            told = self._answer_fetch(leader, row, request)
            if len(told.sent) != 1 or notable(row, told.row, told.sent):
                return False
            row = told.row
            replies.append((row, told.sent[0]))
        world.now = self.now = there
        self.handler_calls += len(replies)
        for row, reply in replies:
            self._has(leader, row, self.state(leader).wants)
            said = known(reply)
            if not self.pace.parks(leader, said):
                self.network.send(there, leader, ((reply.destination, said),))
        self.take(leader, known(asked[-1]))
        return True

    def _has(self, node: int, row: BrokerRow, wants: tuple[KnownInput, ...]) -> None:
        """A broker that runs has another row now, and wants this."""
        was = self.state(node)
        self.rows[node] = row
        self.stand(State(was.machine, node, was.known, row, True, wants, was.steps))


class ObservedPartition(ServedPartition):
    """Of whose steps somebody hears."""

    def take(self, node: int, input: KnownInput) -> Step | None:
        step = super().take(node, input)
        if step is not None and self.world.observer is not None:
            self.world.observer(self, step)
        return step


Observer: TypeAlias = Callable[[ServedPartition, Step], None]


class ServedTopic:
    def __init__(self, name: str, id: bytes, configs: dict[str, str]) -> None:
        self.name = name
        self.id = id
        self.configs = configs
        self.partitions: list[ServedPartition] = []

    @property
    def max_message_bytes(self) -> int:
        return int(self.configs.get("max.message.bytes", 1048588))
