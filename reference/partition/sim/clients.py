"""The clients of topics: producers and consumers, and the history that they see.

An append is ok when its producer was told so, failed when it never was and never will be in the
log, and else indeterminate (P19; the producer says which). Values of one batch are operations at
the same time, so each has a process of its own; a process whose append is indeterminate asks
nothing more. What clients know of the leader they were told by some broker, and they ask again when
they are refused: so they may talk to a leader that has been replaced.

There may be several topics, and each has one partition or several. A producer sends each record to
some topic, there to the partition of its key (partitioner.py); a consumer reads one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kraftcheck.reference.clients.consumer import Consumer, ConsumerConfig, Learned
from kraftcheck.reference.clients.partitioner import partition_for_key
from kraftcheck.reference.clients.producer import Completion, Producer, ProducerConfig
from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    NOBODY,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    Input,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.sim.options import ACKS, PartitionOptions
from kraftcheck.reference.partition.sim.scenario import PartitionLoad
from kraftcheck.reference.partition.system import operation_of
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.operations import Operation, close

PROBE = 90
"""The client that probes a healed partition."""
DELETER = 91
DELETES_MS = (1500, 3000, 4500)
KEYS = 16
"""How many keys records have, where it matters."""


class ClientsEnvironment(Protocol):
    """A partition, as clients see it."""

    now: int
    over: bool
    brokers: tuple[int, ...]

    def row(self, node: int) -> BrokerRow: ...
    def is_running(self, node: int) -> bool: ...
    def send(self, request: Input, node: int) -> None:
        """A client's request to a broker."""
        ...

    def misnumbered(self, explanation: str) -> None:
        """A producer does not begin an epoch as it should."""
        ...

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None: ...


class Clients:
    """The clients of one run, and the history that they see.

    partitions: those of the first topic, then those of the next; topics have equally many.
    written: the topics to which records are sent, by their place. catalog: the partitions of a
    topic, if they are others. rules: of producers.
    """

    def __init__(
        self,
        load: PartitionLoad,
        options: PartitionOptions,
        stream: Stream,
        partitions: Sequence[ClientsEnvironment],
        topics: int = 1,
        written: Sequence[int] = (0,),
        catalog: Callable[[int], Sequence[int]] | None = None,
        rules: ProducerRules | None = None,
    ) -> None:
        self.rules = rules
        each = len(partitions) // topics
        self._of_topic = catalog or (lambda topic: range(each * topic, each * (topic + 1)))
        self._written = written
        self._stream = stream
        self._partitions = partitions
        self._world = partitions[0]
        self._deletes = options.deletes
        self.history: list[Operation] = []
        self.processes = 0
        self.values = 0
        self.producers = {
            client: _Producing(self, client, load, options) for client in range(load.producers)
        }
        self._consumers = {
            load.producers + at: _Consuming(self, load.producers + at, load, options)
            for at in range(max(load.consumers, len(partitions)))
        }
        self._epochs: set[tuple[int, int, int]] = set()
        """By partition and producer, those in which batches were sent."""
        probing = PartitionOptions(idempotence=False)
        self._probes = [_Producing(self, PROBE, load, probing) for _ in partitions]

    def start(self) -> None:
        for producing in self.producers.values():
            producing.think(0)
        for consuming in self._consumers.values():
            consuming.think(0)
        if self._deletes:
            self._world.call(1000 * pick(self._stream, DELETES_MS), self._delete, 0)

    def stop_producing(self) -> None:
        """The load is over; what is in flight goes on."""
        for producing in self.producers.values():
            producing.left = 0
        self._deletes = False

    def probe(self, partition: int) -> Operation:
        """Appends a value with acks=all. The operation tells what became of it."""
        return self._probes[partition].send(partition)

    def receive(self, partition: int, message: object) -> None:
        """An answer has come."""
        if isinstance(message, ProduceResponse):
            client = message.request.client
            producing = self._probes[partition] if client == PROBE else self.producers[client]
            producing.answered(partition, message)
        elif isinstance(message, ConsumerFetchResponse | ListOffsetsResponse):
            self._consumers[message.request.client].answered(message)

    def _delete(self, _: int) -> None:
        """Somebody deletes the older half of what is committed."""
        partition = self.some_partition()
        leader = self.leader(partition)[0]
        if not self._deletes or self._world.over:
            return
        if leader != NOBODY:
            offset = self._partitions[partition].row(leader).high_watermark // 2
            self.send(partition, DeleteRecordsRequest(CLIENTS, leader, DELETER, offset))
        self._world.call(1000 * pick(self._stream, DELETES_MS), self._delete, 0)

    # --- What the clients share

    @property
    def partitions(self) -> range:
        return range(len(self._partitions))

    def some_partition(self) -> int:
        """Where a record with some key belongs, in some topic."""
        if len(self._partitions) == 1:
            return 0
        topics = self._written
        partitions = self._of_topic(pick(self._stream, topics) if len(topics) > 1 else topics[0])
        key = f"key-{self._stream.below(KEYS)}"
        return partitions[partition_for_key(key.encode(), len(partitions))]

    def send(
        self,
        partition: int,
        request: ProduceRequest | ConsumerFetchRequest | ListOffsetsRequest | DeleteRecordsRequest,
    ) -> None:
        if isinstance(request, ProduceRequest) and request.producer != UNDEFINED:
            self._note_epoch(partition, request)
        self._partitions[partition].send(request, request.destination)

    def _note_epoch(self, partition: int, request: ProduceRequest) -> None:
        """Note where a producer's epoch begins (EpochBeginsAtZero).

        Its first batch of an epoch has number 0 in each partition (KIP-360), since the broker
        expects that of an epoch that it does not know.
        """
        key = partition, request.producer, request.producer_epoch
        if key not in self._epochs and request.sequence:
            self._partitions[partition].misnumbered(
                f"producer {request.producer} begins epoch {request.producer_epoch} with number "
                f"{request.sequence}"
            )
        self._epochs.add(key)

    def call(self, milliseconds: int, what: Callable[[int], None], argument: int) -> None:
        self._world.call(1000 * milliseconds, what, argument)

    @property
    def now(self) -> int:
        return self._world.now

    @property
    def now_ms(self) -> int:
        return self._world.now // 1000

    @property
    def over(self) -> bool:
        return self._world.over

    def pick_ms(self, among: tuple[int, ...]) -> int:
        return pick(self._stream, among)

    def leader(self, partition: int) -> tuple[int, int]:
        """(leader, leader epoch) as some running broker knows them."""
        world = self._partitions[partition]
        running = [b for b in world.brokers if world.is_running(b)]
        if not running:
            return NOBODY, UNDEFINED
        known = world.row(pick(self._stream, running)).image.partition
        return known.leader, known.leader_epoch

    def replica(self, partition: int, client: int) -> int:
        """From which replica a consumer reads that need not read from the leader."""
        brokers = self._partitions[partition].brokers
        return brokers[client % len(brokers)]

    def wants_latest(self) -> bool:
        return chance(self._stream, 150)

    def new_process(self) -> int:
        self.processes += 1
        return self.processes - 1

    def operation(self, process: int, op: str, node: int, partition: int) -> Operation:
        operation = Operation(process, op, node, self.now, partition)
        self.history.append(operation)
        return operation

    def finish(self) -> None:
        """The run ends."""
        close(self.history, self.now)


class _Producing:
    """A producer, its values and the operations that they are in the history."""

    def __init__(
        self, clients: Clients, client: int, load: PartitionLoad, options: PartitionOptions
    ) -> None:
        self._clients = clients
        self._load = load
        self._batch = options.batch_records
        self.left = options.appends * options.stretch
        self._producer = Producer(
            ProducerConfig(
                client=client,
                acks=ACKS[options.acks],
                idempotent=options.idempotence,
                batch_records=options.batch_records,
                linger=load.linger_ms if options.batch_records > 1 else 0,
                # With answers lost, requests behind them would overtake retries (T3).
                max_in_flight=1 if options.answers_lost else 5,
                retry_backoff=load.retry_ms,
                delivery_timeout=load.delivery_ms,
            ),
            client if options.idempotence else UNDEFINED,
            clients.rules,
        )
        self._free: list[int] = []
        """Processes without an operation."""
        self._open: dict[int, Operation] = {}
        """By value."""
        self._used: set[int] = set()
        """Partitions that got a record."""
        self._leaders = [NOBODY for _ in clients.partitions]
        self._polls_at = -1

    def think(self, _: int) -> None:
        if self.left > 0:
            self._clients.call(self._clients.pick_ms(self._load.think_ms), self._next, 0)

    def _next(self, _: int) -> None:
        if self.left <= 0 or self._clients.over:
            return
        for _ in range(min(self.left, self._batch)):
            self.left -= 1
            self.send(self._clients.some_partition())
        self.think(0)

    def send(self, partition: int) -> Operation:
        clients = self._clients
        clients.values += 1
        value = clients.values
        process = self._free.pop() if self._free else clients.new_process()
        if self._leaders[partition] == NOBODY:
            self._leaders[partition] = clients.leader(partition)[0]
        operation = clients.operation(process, "append", self._leaders[partition], partition)
        operation.values = [value]
        self._open[value] = operation
        self._used.add(partition)
        self._producer.send(partition, value, clients.now_ms)
        self._poll(0)
        return operation

    def _poll(self, _: int) -> None:
        clients, leaders = self._clients, self._leaders
        if NOBODY not in leaders and self._producer.is_idle:
            return
        now = clients.now_ms
        if NOBODY in leaders:
            for partition in sorted(self._used):
                if leaders[partition] == NOBODY:
                    leaders[partition] = clients.leader(partition)[0]
        sends, done = self._producer.poll(now, leaders.__getitem__)
        for each in sends:
            for value in each.request.values:
                if value in self._open:
                    self._open[value].node = leaders[each.partition]
            clients.send(each.partition, each.request)
            if each.request.acks != 0:
                self._expect(each.partition, each.request)
        self._complete(done)
        self._poll_later(now)

    def _expect(self, partition: int, request: ProduceRequest) -> None:
        def give_up(_: int) -> None:
            self._complete(self._producer.on_timeout(partition, request, self._clients.now_ms))
            self._poll(0)

        self._clients.call(self._load.request_ms, give_up, 0)

    def _poll_later(self, now: int) -> None:
        """Again when the producer says so; and while no leader is known, to ask who it is."""
        at = self._producer.next_time(now)
        if at is None:
            return
        leaders = self._leaders
        if at <= now + 1 or any([leaders[partition] == NOBODY for partition in self._used]):
            # What could go now, and did not, waits for an answer, which will say so by itself.
            at = max(at, now + self._load.retry_ms)
        if not now < self._polls_at <= at:
            self._polls_at = at
            self._clients.call(at - now, self._poll_at, at)

    def _poll_at(self, at: int) -> None:
        if at == self._polls_at and not self._clients.over:
            self._polls_at = -1
            self._poll(0)

    def answered(self, partition: int, m: ProduceResponse) -> None:
        done = self._producer.on_response(partition, m, self._clients.now_ms)
        if m.error == "NOT_LEADER_OR_FOLLOWER":
            self._leaders[partition] = NOBODY
        self._complete(done)
        self._poll(0)

    def _complete(self, done: list[Completion]) -> None:
        for each in done:
            operation = self._open.pop(each.value)
            operation.outcome = each.fate
            if each.fate == "ok":
                operation.offset = each.offset
            if each.fate == "indeterminate":
                continue
            operation.completed = self._clients.now
            self._free.append(operation.process)


class _Consuming:
    """A consumer, which reads on from where it stands."""

    def __init__(
        self, clients: Clients, client: int, load: PartitionLoad, options: PartitionOptions
    ) -> None:
        self._clients = clients
        self._client = client
        self._partition = client % len(clients.partitions)
        self._load = load
        self._consumer = Consumer(
            ConsumerConfig(client=client, from_follower=options.follower_reads)
        )
        self._process = clients.new_process()
        self._asker = clients.new_process()
        """Asks where the log ends: a fetch may know less of that than it does (promises.py)."""
        self._operation: Operation | None = None
        self._leader = (NOBODY, UNDEFINED)
        self._asked: ConsumerFetchRequest | ListOffsetsRequest | None = None

    def think(self, _: int) -> None:
        self._clients.call(self._clients.pick_ms(self._load.read_ms), self._next, 0)

    def _next(self, _: int) -> None:
        clients = self._clients
        if clients.over:
            return
        if self._leader[0] == NOBODY:
            self._leader = clients.leader(self._partition)
        leader, epoch = self._leader
        if leader == NOBODY:
            self.think(0)
            return
        follows = self._consumer.config.from_follower and self._consumer.position != UNDEFINED
        node = clients.replica(self._partition, self._client) if follows else leader
        request: ConsumerFetchRequest | ListOffsetsRequest | None
        if clients.wants_latest():
            request = ListOffsetsRequest(CLIENTS, leader, self._client, epoch, "Latest")
        else:
            request = self._consumer.poll(node, epoch)
        assert request is not None, "one thing at a time"
        self._asked = request
        op = operation_of(request)
        process = self._asker if op == "latest" else self._process
        self._operation = clients.operation(process, op, request.destination, self._partition)
        if isinstance(request, ConsumerFetchRequest):
            self._operation.offset = request.fetch_offset
        clients.send(self._partition, request)
        clients.call(self._load.request_ms, lambda _: self._give_up(request), 0)

    def _give_up(self, request: ConsumerFetchRequest | ListOffsetsRequest) -> None:
        if self._asked is request:
            self._consumer.on_timeout(request)
            self._leader = (NOBODY, UNDEFINED)
            self._close("fail")

    def answered(self, m: ConsumerFetchResponse | ListOffsetsResponse) -> None:
        operation = self._operation
        if (m.request is not self._asked and m.request != self._asked) or operation is None:
            return
        if isinstance(m, ConsumerFetchResponse):
            learned = self._consumer.on_fetch(m)
            operation.values = [each.record.value for each in learned.records]
            if m.error == "NONE":
                operation.end = max(m.high_watermark, m.request.fetch_offset + len(m.records))
        elif operation.op == "latest":
            stale = m.error not in ("NONE", "OFFSET_NOT_AVAILABLE")
            error = "" if m.error == "NONE" else m.error
            learned = Learned(refresh=stale, error=error, offset=m.offset)
        else:
            learned = self._consumer.on_list_offsets(m)
        if operation.op != "fetch" and not learned.error:
            operation.offset = m.offset if isinstance(m, ListOffsetsResponse) else None
        if learned.refresh:
            self._leader = (NOBODY, UNDEFINED)
        self._close("fail" if learned.error else "ok")

    def _close(self, outcome: str) -> None:
        assert self._operation is not None
        self._operation.outcome = outcome
        self._operation.completed = self._clients.now
        self._operation = self._asked = None
        self.think(0)
