"""The cluster behind the front: partitions of the reference, each with its own controller.

Partitions (partition.py) share the brokers' lives, so that a killed broker crashes in each, and one
clock.

*Entries and offsets.* An entry of the reference's log is a batch: its `value` names the bytes in
`World.batches`. The leader gives a batch its base offset when it appends it, as Kafka's does, so an
entry's offset can be read off the entry, on every replica. Handlers only compare entries, and the
map is increasing. Likewise sequence numbers: the reference counts a producer's batches, the wire
their records; `World.sequence_of` says which batch a record number stands for.

Law of this file: no sockets, no real clock, no chance but from the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from heapq import heapify, heappop
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from kraftcheck.kafka.serve.batches import WRAP, Batch
from kraftcheck.kafka.serve.partition import (
    FETCH_MAX,
    SERVED,
    Event,
    Lane,
    LivePartition,
    ObservedPartition,
    Observer,
    ServedPartition,
    ServedTopic,
)
from kraftcheck.kafka.serve.unremembered import Unrecorded, UnrememberedSteps
from kraftcheck.reference.cluster.topics import NewTopic, TopicError, Topics
from kraftcheck.reference.partition.log import GONE, Record, last_sequence, state_of
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    NOBODY,
    BrokerCrash,
    BrokerRestart,
    ControlledShutdown,
    DeleteRecordsRequest,
    ElectLeaders,
    Input,
    ProduceRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.progress import PROBE_MS
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow, PartitionConstants
from kraftcheck.reference.sim.events import CALL
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.network import Partition as Cut
from kraftcheck.reference.sim.recorder import Recorder

OFFSETS: Final = "__consumer_offsets"
"""A topic with one partition on every broker: what groups have committed. Its metadata says which
brokers are alive as well.
"""
TRANSACTIONS: Final = "__transaction_state"
"""Likewise, of transactions; made when somebody first asks for their coordinator."""
INTERNAL: Final = (OFFSETS, TRANSACTIONS)
SILENCE_MS: Final = 2 * PARTITION.paces.session
"""For so long heartbeats stop where a leader is to move: longer than a session."""
MADE_MS: Final = 5000
"""For so long somebody who makes a topic is kept waiting for its leaders."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What a served cluster is; the first thing on its tape."""

    seed: int
    ports: tuple[int, ...]
    """Of the brokers, by id."""
    host: str = "127.0.0.1"
    speed: int = 20
    """How many seconds of its own pass in a second; 0: its time goes on by command."""
    partitions: int = 1
    min_insync_replicas: int = 1
    auto_create: bool = True
    bug: str | None = None
    """A known bug in it, to show that it is noticed."""
    users: tuple[tuple[str, str], ...] = ()
    super_users: tuple[str, ...] = ()

    @property
    def brokers(self) -> range:
        return range(len(self.ports))

    def of_clients(self, ms: int) -> int:
        """What clients' milliseconds are of its own time, in microseconds."""
        return 1000 * ms * (self.speed or 1)

    def uuid(self, name: str) -> bytes:
        """Sixteen bytes that nothing but the seed and the name decide."""
        return blake2b(f"{self.seed}/{name}".encode(), digest_size=16).digest()


class Broken(NamedTuple):
    """A promise that something other than a partition has broken."""

    invariant: str
    where: str
    why: str


class Owner(Protocol):
    """Whoever has asked the cluster."""

    def answered(self, partition: ServedPartition, response: Any) -> None:
        """The core has answered one of the wire's requests."""
        ...


class ServedWorld:
    """All partitions, one clock, and what is done to brokers."""

    def __init__(
        self,
        setup: Setup,
        owner: Owner,
        watched: bool,
        recorded: bool,
        observer: Observer | None = None,
    ) -> None:
        """watched: invariants are asked after each step.

        recorded: steps are kept as campaigns keep them, which takes memory that grows with the
        square of the log. observer: hears of every step.
        """
        self.setup = setup
        self.owner = owner
        self.watched = watched
        self.recorded = recorded
        self._memos: list[PartitionMemo] = []
        self.now = 0
        """Microseconds of the cluster's own time."""
        self.until = 0
        """As far as time goes on now, if nobody stops it."""
        self.agenda: list[Event] = []
        """What is going to happen in all partitions, and to nobody in particular."""
        self._queue = Lane(self.agenda, 0, self)
        self.broken: list[Broken] = []
        self.isolated: set[int] = set()
        """Brokers that are cut off from the others."""
        self.paused: set[int] = set()
        """Brokers that stand still."""
        self._stale: set[int] = set()
        """Brokers to which no metadata comes."""
        self.news: set[ServedPartition] = set()
        """Partitions of which somebody who waits may want to know."""
        self._batches: dict[tuple[int, int], Batch] = {}
        """By leader epoch and value, since another leader may append the same batch elsewhere."""
        self._values: dict[tuple[int, ...], int] = {}
        """By partition and what makes a batch the same one when it is sent again."""
        self._deleted: dict[int, list[Record]] = {}
        """Of partitions whose records were deleted, by number, the entries of the beginning."""
        self.deletions = 0
        """How often somebody asked for one of records."""
        self._within: dict[tuple[int, int], int] = {}
        """By partition and its first entry: the offset within that at which the log begins."""
        self.topics: dict[str, ServedTopic] = {}
        self.all: list[ServedPartition] = []
        """Those of deleted topics, too, and those that hold no topic's records."""
        self.partitions_made = self.ids_made = self.values = 0
        self._live: list[ServedPartition] = []
        self.observer = observer
        self.stirred = True
        """Whether something has happened since somebody looked, for which a request may wait."""
        self._made = Topics(setup.brokers)
        self.offsets = self.make_internal(OFFSETS).partitions[0]

    def memo(self) -> PartitionMemo:
        """For a partition: rows have their number in one record only."""
        if not self.recorded:
            return UnrememberedSteps(self.setup.bug, self.watched)
        self._memos.append(PartitionMemo(self.setup.bug))
        return self._memos[-1]

    def has_news(self, partition: ServedPartition) -> None:
        self.news.add(partition)
        self.stirred = True

    @property
    def distinct_steps(self) -> int:
        """How many are recorded; a cluster that idles takes the same ones again and again."""
        return sum(memo.steps for memo in self._memos)

    def breaks(self, invariant: str, where: str, why: str) -> None:
        self.broken.append(Broken(invariant, where, why))

    # --- Time

    def advance_to(
        self,
        now: int,
        done: Callable[[], None],
        goes_on: Callable[[], bool] | None = None,
        leap: int = 0,
    ) -> None:
        """Let everything that is due happen, at its own time.

        `done` is called after each event for which somebody may wait. goes_on: whether time leaps
        to what is due, for as long as it says so. leap: how far beyond may lie what follows from
        it, if nothing else comes before.
        """
        agenda, self.until = self.agenda, now + leap
        while agenda and agenda[0][0] <= now and (goes_on is None or goes_on()):
            # For as long as nothing happens for which somebody waits, `goes_on` says the same.
            while agenda and agenda[0][0] <= now:
                due, _, _, lane, kind, node, what = heappop(agenda)
                if due > self.now:
                    self.now = due
                if not self.paused or not lane.holds(kind, node, what):
                    lane.happen(due, kind, node, what)
                if self.stirred:
                    done()
                    break
        if goes_on is None and now > self.now:
            self.now = now

    def holds(self, kind: int, argument: Any, what: Any) -> bool:
        """Nobody's events wait for a broker."""
        return False

    def happen(self, due: int, kind: int, argument: Any, what: Any) -> None:
        """An event of nobody's."""
        self.stirred = True
        what(argument)

    def next_due(self) -> int | None:
        return self.agenda[0][0] if self.agenda else None

    def call(self, delay: int, what: Callable[[Any], None], argument: Any) -> None:
        self._queue.push(self.now + delay, CALL, argument, what)

    # --- Topics

    def make(self, wanted: NewTopic, configs: dict[str, str]) -> ServedTopic:
        """Raises TopicError."""
        assignments = self._made.create(wanted).assignments
        self.ids_made += 1
        topic = ServedTopic(wanted.name, self.setup.uuid(f"topic/{self.ids_made}"), configs)
        self.topics[wanted.name] = topic
        for replicas in assignments:
            self._add(topic, replicas, wanted.min_insync_replicas)
        return topic

    def _add(self, topic: ServedTopic, replicas: tuple[int, ...], least: int) -> None:
        """One more partition. least: min.insync.replicas."""
        constants = PartitionConstants(
            replicas=replicas,
            min_insync_replicas=least,
            unclean_election=topic.configs.get("unclean.leader.election.enable") == "true",
            fetch_max_records=FETCH_MAX,
        )
        recorder = Recorder(self.partitions_made) if self.recorded else Unrecorded()
        of: type[ServedPartition] = LivePartition
        if self.observer is not None:
            of = ObservedPartition
        elif self.watched or self.recorded:
            of = ServedPartition
        partition = of(self, topic, len(topic.partitions), constants, recorder)
        self.partitions_made += 1
        topic.partitions.append(partition)
        self.all.append(partition)
        self._live.append(partition)
        partition.start_nodes()
        for broker in replicas:
            if broker not in self.up():
                self._crash(partition, broker, False)
            if broker in self.isolated:
                self._sever(partition, broker, False)
            elif broker in self._stale:
                partition.hears_metadata(broker, False)

    def extend(
        self, topic: ServedTopic, count: int, wanted: list[list[int]] | None, only: bool
    ) -> None:
        """More partitions: where that is wanted, or on the brokers that follow.

        only: whether it could be. Raises TopicError.
        """
        have, brokers = len(topic.partitions), list(self.setup.brokers)
        if count <= have:
            raise TopicError("INVALID_PARTITIONS", f"the topic has {have} partitions already")
        first = topic.partitions[0].constants
        size = len(first.replicas)
        if wanted is None:
            turns = [[*brokers[at % len(brokers) :], *brokers] for at in range(have, count)]
            wanted = [each[:size] for each in turns]
        usual = all(len(each) == size == len({*each} & {*brokers}) for each in wanted)
        if len(wanted) != count - have or not usual:
            raise TopicError("INVALID_REPLICA_ASSIGNMENT", f"not {size} brokers for each partition")
        for replicas in () if only else wanted:
            self._add(topic, tuple(replicas), first.min_insync_replicas)

    def make_internal(self, name: str) -> ServedTopic:
        """With one partition, on every broker."""
        return self.make(NewTopic(name=name, assignments=(tuple(self.setup.brokers),)), {})

    def up(self) -> frozenset[int]:
        """The brokers whose process runs."""
        if not self.topics:
            return frozenset()
        first = self.topics[OFFSETS].partitions
        return frozenset(b for b in self.setup.brokers if not first or first[0].is_running(b))

    def reaches(self, broker: int, other: int) -> bool:
        """Whether a broker's request comes to another."""
        return broker == other or (other in self.up() and not self.isolated & {broker, other})

    def delete(self, name: str) -> None:
        """Raises TopicError. What its partitions did remains to be judged."""
        self._made.delete(name)
        for partition in self.topics.pop(name).partitions:
            self._live.remove(partition)
            self.agenda[:] = [each for each in self.agenda if each[3] is not partition]
            heapify(self.agenda)
            self.has_news(partition)

    def partition(self, topic: str, index: int) -> ServedPartition | None:
        found = self.topics.get(topic)
        if found is None or not 0 <= index < len(found.partitions):
            return None
        return found.partitions[index]

    def with_id(self, id: bytes) -> ServedTopic | None:
        return next((topic for topic in self.topics.values() if topic.id == id), None)

    def topic_of_clients(self, said: Mapping[str, Any], name: str = "name") -> ServedTopic | None:
        """The topic that a request names, or by its id; the logs of brokers are none of clients.

        name: what the request calls a topic's name.
        """
        topic = self.topics.get(said[name]) if name in said else self.with_id(said["topic_id"])
        return None if topic is None or topic.name in INTERNAL else topic

    def called(self, said: Mapping[str, Any]) -> str:
        """The name of a topic in a request, which may say its id; "" if there is none."""
        topic = self.with_id(said.get("topic_id", b""))
        name: str = topic.name if topic else said.get("name") or said.get("topic") or ""
        return name

    @property
    def live_partitions(self) -> list[ServedPartition]:
        return list(self._live)

    # --- Entries and offsets

    def offset_of(self, partition: ServedPartition, row: BrokerRow, entry: int) -> int:
        """Where an entry of this log begins; of its end, where the log ends."""
        log = row.log
        if entry < len(log):
            return self.batch(self.entry(partition, row, entry)).base
        return self.batch(self.entry(partition, row, len(log) - 1)).end if log else 0

    def entry(self, partition: ServedPartition, row: BrokerRow, at: int) -> Record:
        """An entry of this log, also one that was deleted."""
        found: Record = row.log[at]
        return self._deleted[partition.number][at] if found is GONE else found

    def start_of(self, partition: ServedPartition, row: BrokerRow) -> int:
        """The log's first offset, which may lie within its first batch: batches stay whole."""
        base = self.offset_of(partition, row, row.log_start)
        return max(base, self._within.get((partition.number, row.log_start), base))

    def delete_before(
        self, partition: ServedPartition, broker: int, client: int, offset: int
    ) -> None:
        """Asks a leader to let the log begin at an offset (S9). Its own answer is of entries."""
        self.deletions += 1
        row = partition.row(broker)
        entry = self.entry_at(partition, row, offset)
        if row.role == "Leader" and entry <= row.high_watermark:
            # What is committed is the same on all replicas, for ever.
            known = self._deleted.setdefault(partition.number, [])
            known += [self.entry(partition, row, at) for at in range(len(known), entry)]
            at = (partition.number, entry)
            if offset > max(self.offset_of(partition, row, entry), self._within.get(at, 0)):
                self._within[at] = offset
        self.give(partition, broker, DeleteRecordsRequest(CLIENTS, broker, client, entry))

    def watermark(self, partition: ServedPartition) -> int:
        """The high watermark of who leads as the controller has decided; -1: nobody does."""
        leader = partition.controller.partition.leader
        if leader == NOBODY:
            return UNDEFINED
        row = partition.row(leader)
        return self.offset_of(partition, row, row.high_watermark)

    def entry_at(self, partition: ServedPartition, row: BrokerRow, offset: int) -> int:
        """The entry that holds an offset; one past the log's end for what it does not reach."""
        end = self.offset_of(partition, row, len(row.log))
        if not 0 <= offset <= end:
            return UNDEFINED if offset < 0 else len(row.log) + 1
        low, high = 0, len(row.log)
        while low < high:
            middle = (low + high) // 2
            if self.batch(self.entry(partition, row, middle)).end <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def batch(self, entry: Record) -> Batch:
        """The bytes that an entry stands for."""
        return self._batches[entry.epoch, entry.value]

    def _value(self, partition: ServedPartition, batch: Batch) -> int:
        """Number a value.

        Where a producer numbers its batches, a batch that comes again has the same number, so that
        NoDuplicate can be asked.
        """
        key = (partition.number, batch.producer, batch.producer_epoch, batch.sequence, batch.crc)
        known = self._values.get(key)
        if known is None:
            self.values += 1
            known = self.values
            if batch.sequence != UNDEFINED:
                self._values[key] = known
        return known

    def sequence_of(self, partition: ServedPartition, row: BrokerRow, batch: Batch) -> int:
        """Give the sequence number as the reference counts a producer's batches.

        For the expected batch it is the number that comes next, for a remembered batch that batch's
        number, and else neither.
        """
        if batch.sequence == UNDEFINED:
            return UNDEFINED
        state = state_of(row.producers, batch.producer)
        if state is None:
            return 0
        if state.epoch != batch.producer_epoch:
            return 0 if batch.sequence == 0 else 1
        for known in state.batches:
            same = self.batch(self.entry(partition, row, known.offset))
            if (same.sequence, same.count) == (batch.sequence, batch.count):
                return known.first
        last = self.batch(self.entry(partition, row, state.batches[-1].offset))
        follows = batch.sequence == (last.last_sequence + 1) % WRAP
        return last_sequence(state) + (1 if follows else 2)

    def append(
        self, partition: ServedPartition, broker: int, batch: Batch, acks: int, client: int
    ) -> str:
        """Gives a batch to a broker, which answers `client`. Returns why it was ignored, or ""."""
        row = partition.row(broker)
        value = self._value(partition, batch)
        partition.clients.values = self.values
        producer = (UNDEFINED, UNDEFINED, UNDEFINED)
        if batch.sequence != UNDEFINED:
            sequence = self.sequence_of(partition, row, batch)
            producer = batch.producer, batch.producer_epoch, sequence
        request = ProduceRequest(CLIENTS, broker, client, acks, (value,), *producer)
        step = self.give(partition, broker, request)
        after = partition.row(broker)
        if len(after.log) > len(row.log):
            self.lay(partition, row, after, batch)
        return step.ignored if step is not None else "NOT_LEADER_OR_FOLLOWER"

    def lay(
        self, partition: ServedPartition, before: BrokerRow, after: BrokerRow, batch: Batch
    ) -> None:
        """A leader has appended an entry: this batch."""
        end = self.offset_of(partition, before, len(before.log))
        batch.stamp(end, after.leader_epoch)
        self._batches[after.leader_epoch, after.log[-1].value] = batch

    # --- Steps from outside

    def give(self, partition: ServedPartition, node: int, input: Input) -> Step | None:
        partition.now = self.now
        return partition.give(node, input)

    # --- Faults: all are of the world, and what follows is by the rules

    def kill(self, broker: int, lose: bool, keep: int = 0, torn: bool = False) -> None:
        """The process ends; with `lose`, the machine too, and with it what was not flushed.

        keep: so many batches of that are there all the same. torn: the next one is there, and
        cannot be read.
        """
        for partition in self._holding(broker):
            if partition.is_running(broker):
                self._crash(partition, broker, lose, keep, torn)
        # What waited for it meets nobody.
        self.resume(broker)

    def _crash(
        self,
        partition: ServedPartition,
        broker: int,
        lose: bool,
        keep: int = 0,
        torn: bool = False,
    ) -> None:
        row = partition.row(broker)
        end = len(row.log)
        left = min(end, max(row.flushed, row.log_start) + keep) if lose else end
        corrupt = UNDEFINED
        if left < end:
            partition.losses.has_lost(broker)
            partition.judge_promise()
            if torn:
                corrupt, left = left, left + 1
        self.give(partition, broker, BrokerCrash(left, corrupt))
        partition.pace.give_up(broker)

    def restart(self, broker: int) -> None:
        for partition in self._holding(broker):
            if partition.row(broker).status == "ShuttingDown":
                self._crash(partition, broker, False)
            if partition.row(broker).status == "Down":
                self.give(partition, broker, BrokerRestart())

    def stop(self, broker: int) -> None:
        """The broker hands over what it leads, and ends when the controller lets it."""
        self.resume(broker)
        for partition in self._holding(broker):
            if partition.row(broker).status == "Running":
                self.give(partition, broker, ControlledShutdown())

    def move(self, partition: ServedPartition) -> None:
        """Its leader's heartbeats stay away until the controller has chosen another."""
        leader = partition.controller.partition.leader
        if leader != NOBODY:
            partition.now = self.now
            partition.stand_still(leader, "silent", 1000 * SILENCE_MS)

    def elect(self, partition: ServedPartition) -> None:
        """The preferred leader is asked for."""
        self.give(partition, CONTROLLER, ElectLeaders("PREFERRED"))

    def cut(self, broker: int, whole: bool) -> None:
        """Cut a broker off from the others and the controller, or join it again.

        Clients reach it all along.
        """
        if whole == (broker not in self.isolated):
            return
        (self.isolated.discard if whole else self.isolated.add)(broker)
        for partition in self._holding(broker):
            self._sever(partition, broker, whole)

    def _sever(self, partition: ServedPartition, broker: int, whole: bool) -> None:
        others = (*[b for b in partition.brokers if b != broker], CONTROLLER)
        cut = Cut((broker,), others, False, 0)
        partition.now = self.now
        partition.hears_metadata(broker, whole and broker not in self._stale)
        if whole:
            partition.network.end(cut)
            partition.pace.give_up(broker)
        else:
            partition.losses.cuts += 1
            partition.network.begin(cut)

    def pause(self, broker: int) -> None:
        """The process stands still: nothing comes to it, and it does nothing, until `resume`."""
        self.paused.add(broker)
        self.stirred = True

    def resume(self, broker: int) -> None:
        """What has come meanwhile, and what was to be done, is now."""
        if broker not in self.paused:
            return
        self.paused.discard(broker)
        self.stirred = True
        for partition in self._holding(broker):
            partition.now = self.now
            partition.resume(broker)

    def tell(self, broker: int, is_told: bool) -> None:
        """Whether metadata comes to a broker, which acts by what it knows."""
        (self._stale.discard if is_told else self._stale.add)(broker)
        for partition in self._holding(broker):
            partition.now = self.now
            partition.hears_metadata(broker, is_told and broker not in self.isolated)

    def expire(self, broker: int) -> None:
        """The controller takes a broker for dead, until it hears from it again."""
        for partition in self._holding(broker):
            self.give(partition, CONTROLLER, SessionTimeout(broker))

    def heal(self) -> None:
        """All trouble ends, and every partition has to make progress."""
        self.isolated.clear()
        self._stale.clear()
        for broker in self.setup.brokers:
            self.resume(broker)
        for partition in self.live_partitions:
            partition.now = self.now
            # Records that show progress are numbered like any others.
            partition.clients.values = self.values
            self.values += SERVED.healed_ms // PROBE_MS + 1
            partition.end_faults(0)

    def _holding(self, broker: int) -> Iterable[ServedPartition]:
        return [each for each in self.live_partitions if broker in each.brokers]
