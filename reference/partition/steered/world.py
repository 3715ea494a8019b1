"""Steer a partition, alone or in a cluster.

What both have alike: the mail of its brokers, its clients, and which moves brokers have.

Law of this file: no choice is made here. Steps are taken as the simulator takes them
(reference/partition/sim/run.py), which checks the named invariants after each; messages,
metadata, clocks and clients move only when they are told to.

A message between brokers may come late, again, in any order or never. What travels to and from the
controller or a client comes once and in order (reference/partition/sim/network.py says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, get_args

from kraftcheck.reference.clients.promises import Configuration, Envelope, spared
from kraftcheck.reference.partition.log import ends_batch
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    MESSAGES,
    ClientRequest,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    Election,
    Input,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataUpdate,
    ProduceRequest,
    ProduceResponse,
    Timestamp,
)
from kraftcheck.reference.partition.sim.options import ACKS, PartitionOptions, configuration_of
from kraftcheck.reference.partition.sim.pace import Pace
from kraftcheck.reference.partition.sim.progress import missing_in
from kraftcheck.reference.partition.sim.run import PartitionRun
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.steered.producers import PRODUCER, Posted, SteeredProducer
from kraftcheck.reference.partition.steered.told import name_of
from kraftcheck.reference.partition.system import comes_once, operation_of, produce
from kraftcheck.reference.partition.types import UNDEFINED, is_up
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State
from kraftcheck.reference.sim.operations import Operation, close
from kraftcheck.reference.steered.mail import Link, Mail
from kraftcheck.reference.steered.moves import Move, Names, Words

MOVES_TO_COPY = 6
"""How many moves it may take to be well again: so many, and so many for each record that is in a
log or on its way to one, and each replica that must get it, since a fetch may carry one at a time.
"""


class NoChoice:
    """A stream, and streams, for what is never asked."""

    def stream(self, name: str) -> NoChoice:
        return self

    def below(self, bound: int) -> int:
        return 0


class _NoClock(Pace):
    """Nothing happens by itself."""

    def look(self, node: int, state: State) -> None:
        """No deadline is set."""

    def news(self, leader: int) -> None:
        """Nobody is woken."""

    def is_news_for(self, node: int) -> bool:
        """Whether a follower's fetch would find something, or tell something."""
        row = self._world.row(node)
        leader = self._world.row(row.leader)
        if not is_up(leader) or leader.role != "Leader":
            return False
        return self._fetch_wait(node, row, leader) < self._paces.fetch_max_wait


class Chosen(NamedTuple):
    """In place of an input: an election before which this broker was listed first."""

    election: Election
    broker: int


class Steering(PartitionRun):
    """A steered partition, alone or in a cluster.

    It has its mail, its clients, and the moves of its brokers. `steer` is called once, when the
    world has been built. Who steers it notes the moves (`move`).
    """

    has_control_records = False

    called = ""
    """What its moves begin with, among those of several."""

    def steer(self, options: PartitionOptions, cut: set[Link]) -> None:
        """cut: links that no message passes; the owner changes it."""
        self.options = options
        self.mail: Mail[KnownInput] = Mail(_link, self.passes, comes_once)
        self.cut = cut
        self.history: list[Operation] = []
        self._asked: dict[object, Operation] = {}
        """What clients wait for, by request."""
        self.values = 0
        self.seen = 0
        """How far clients have seen the log."""
        self.producer = SteeredProducer()
        """Of use where producers are idempotent."""
        self._names: Names = Names(lambda known: render_input(known.value))

    def make_clock(self, stream: Stream) -> Pace:
        return _NoClock(self.brokers, PARTITION.paces, self._options, stream, self.queue, self)

    def post(self, message: KnownInput) -> None:
        """It is on its way."""
        self._names.name(message)
        self.mail.post(message)

    # --- One move

    def move(self, words: Words, make: Callable[[], object]) -> Move:
        raise NotImplementedError

    def step_of(self, node: int, input: Input) -> Move:
        """One step of one node, or an answer that reaches a client."""
        return self.move(partial(self.words, node, input), partial(self._take, node, input))

    def do(self, node: int, input: Input) -> None:
        """The same at once. Raises Violation."""
        self.step_of(node, input).make()

    def _take(self, node: int, input: Input) -> None:
        known = self._intern(input)
        if isinstance(input, MESSAGES):
            self.mail.come(known)
        if node == CLIENTS:
            self._answer(input)
        else:
            self.take(node, known)

    def words(self, node: int, input: Input) -> str:
        if isinstance(input, MESSAGES):
            return f"{name_of(node)} {self._names.name(self._intern(input))}"
        if isinstance(input, MetadataUpdate):
            return f"{name_of(node)} reads {len(input.records)} metadata from {input.offset}"
        return f"{name_of(node)} {render_input(input)}"

    def named_rows(self) -> dict[str, Any]:
        rows: dict[str, Any] = {f"broker {node}": self.row(node) for node in self.brokers}
        return {**rows, "the controller": self.controller}

    def drops(self) -> list[Move]:
        """A message never comes. With an answer the producer's connection is gone."""
        return [
            self.move(self.losing_words(each), partial(self._lose, each))
            for each in self.mail.deliverable()
        ]

    def _lose(self, message: KnownInput) -> None:
        self.mail.lose(message)
        if _is_of_producer(message.value) and self.producer.is_open(message.value.source):
            self._breaks(message.value.source, True)

    def losing_words(self, message: KnownInput) -> str:
        return f"lose {self._names.name(message)}"

    def has_crashed(self, node: int, keep: int, corrupt: int) -> None:
        """What a crash that is about to happen means for clients and for promises."""
        self.producer.dies(node, self.now)
        if keep < len(self.row(node).log) or corrupt != UNDEFINED:
            self.losses.has_lost(node)
            self.judge_promise()

    # --- Clients: every request is one operation of a process of its own

    def ask_of(self, request: ClientRequest) -> Move:
        """Somebody asks this. No history speaks of deletions."""
        return self.move(partial(self.asking_words, request), partial(self._request, request))

    def ask(self, request: ClientRequest) -> None:
        self.ask_of(request).make()

    def asking_words(self, request: ClientRequest) -> str:
        return f"{name_of(request.destination)} {render_input(request)}"

    def _request(self, request: ClientRequest) -> None:
        self.values += 1
        if not isinstance(request, DeleteRecordsRequest):
            op = operation_of(request)
            operation = Operation(len(self.history), op, request.destination, self.now)
            operation.values = list(getattr(request, "values", ()))
            operation.offset = getattr(request, "fetch_offset", None)
            self.history.append(operation)
            self._asked[request] = operation
        self._take(request.destination, request)

    def produce(self, node: int, acks: int) -> ProduceRequest:
        """The next: a batch of one record, whose value no record before it had."""
        return produce(node, self.values + 1, acks, self.values + 1)

    def consume(self, node: int, offset: int) -> ConsumerFetchRequest:
        client = self.values + 1
        return ConsumerFetchRequest(CLIENTS, node, client, UNDEFINED, offset, False)

    def list_offsets(self, node: int, timestamp: Timestamp) -> ListOffsetsRequest:
        """Where the log ends, or begins."""
        return ListOffsetsRequest(CLIENTS, node, self.values + 1, UNDEFINED, timestamp)

    def delete_records(self, node: int, offset: int) -> DeleteRecordsRequest:
        """All before an offset."""
        return DeleteRecordsRequest(CLIENTS, node, self.values + 1, offset)

    def _append(self, node: int) -> None:
        """The idempotent producer has a new value, and sends it as soon as it may."""
        self.values += 1
        operation = Operation(len(self.history), "append", node, self.now)
        operation.values = [self.values]
        self.history.append(operation)
        self.producer.append(self.values, operation, node)

    def _breaks(self, node: int, late: bool) -> None:
        """The producer's connection to a broker, and no answer comes over it.

        late: what is on its way to the broker arrives.
        """
        for message in list(self.mail.waiting):
            m = message.value
            if _is_of_producer(m) and m.source == node:
                self.mail.lose(message)
        self.producer.breaks(node, late, self.now)

    def posts(self) -> list[Move]:
        """Requests of the producer that may arrive."""
        return [
            self.move(self._post_words(posted), partial(self._post, posted))
            for posted in self.producer.first()
            if self.is_running(posted[1].destination)
        ]

    def _post(self, posted: Posted) -> None:
        self.producer.arrives(posted)
        self._take(posted[1].destination, posted[1])

    def _post_words(self, posted: Posted) -> str:
        connection, request = posted
        return f"{self.words(request.destination, request)} over connection {connection}"

    def posting_words(self, value: int, node: int) -> str:
        """Of the arrival of a value at a broker; empty if it is not on its way."""
        for posted in self.producer.first():
            if value in posted[1].values and posted[1].destination == node:
                return self._post_words(posted)
        return ""

    def sends(self) -> list[Move]:
        """What the producer may do: a new value, and retries."""
        found: list[Move] = []
        if not self.options.idempotence:
            return found
        leaders = self.leaders()
        if self.producer.may_begin():
            for node in leaders:
                words = appending_words(self.values + 1, node)
                found.append(self.move(words, partial(self._append, node)))
        if self.producer.has_to_send():
            for node in leaders:
                again = partial(self._send_again, node)
                found.append(self.move(resending_words(node), again))
        return found

    def _send_again(self, node: int) -> None:
        self.producer.send(node, self.now)

    def breakages(self) -> list[Move]:
        """Give what may happen to the producer.

        A connection that breaks, values that it groups anew before it sends them again, a value
        that it gives up.
        """
        found: list[Move] = []
        for node, connection in self.producer.open_connections():
            words = breaking_words(node, connection)
            found.append(self.move(words, partial(self._breaks, node, True)))
            if self.producer.is_on_its_way(connection):
                words += ", with what is on its way"
                found.append(self.move(words, partial(self._breaks, node, False)))
        if values := self.producer.regroupable():
            words = f"the producer makes one batch of {', '.join(map(str, values))}"
            found.append(self.move(words, self.producer.regroup))
        if self.producer.oldest is not None:
            words = f"the producer gives up on {self.producer.oldest}"
            found.append(self.move(words, self._give_up))
        return found

    def _give_up(self) -> None:
        self.producer.give_up(self.now)

    def _answer(self, m: object) -> None:
        if isinstance(m, DeleteRecordsResponse):
            return
        assert isinstance(m, ProduceResponse | ConsumerFetchResponse | ListOffsetsResponse), m
        if isinstance(m, ProduceResponse) and m.request.producer != UNDEFINED:
            self.producer.answered(m, self.now)
            return
        operation = self._asked[m.request]
        operation.completed = self.now
        if isinstance(m, ConsumerFetchResponse):
            operation.outcome = "ok" if m.error == "NONE" else "fail"
            operation.values = [record.value for record in m.records]
            operation.end = max(m.high_watermark, m.request.fetch_offset + len(m.records))
            if m.error == "NONE":
                self.seen = max(self.seen, operation.end)
        elif m.error == "NONE":
            operation.outcome, operation.offset = "ok", m.offset
        elif m.error == "NOT_ENOUGH_REPLICAS":
            operation.outcome = "fail"  # P19: after any other error it may be in the log.

    @property
    def promised(self) -> tuple[Configuration, Envelope]:
        """Each partition is held against its own faults (docs/reference/protocol-rules.md)."""
        return configuration_of(self.options), self.losses.envelope()

    def close_history(self) -> list[Operation]:
        """What clients saw."""
        close(self.history, self.now)
        return self.history

    # --- Which moves there are

    def passes(self, message: KnownInput) -> bool:
        link = _link(message)
        return link not in self.cut and (link[1] < 0 or self.is_running(link[1]))

    def moves_to_copy(self) -> int:
        """How many moves it may take to bring all records there are to every replica."""
        longest = max(len(self.row(node).log) for node in self.brokers)
        coming = len(self.mail.waiting) * self.options.batch_records
        return MOVES_TO_COPY * (longest + coming) * len(self.brokers)

    def data(self, again: bool = False, held: bool | None = None) -> list[Move]:
        """Messages that come: the latest first, which can be the answer to a move.

        held: only what is slow, or only what is not.
        """
        return [
            self.step_of(each.value.destination, each.value)
            for each in self.mail.deliverable(again)[::-1]
            if held in (None, each in self.mail.held)
        ]

    def asks(self) -> list[Move]:
        return [*map(self.ask_of, self.requests())]

    def requests(self) -> Iterator[ClientRequest]:
        """What clients may ask of leaders."""
        acks = sorted({-1, ACKS[self.options.acks]})
        for node in self.leaders():
            for each in () if self.options.idempotence else acks:
                yield self.produce(node, each)
            for offset in range(self.seen + 1):
                yield self.consume(node, offset)
            for timestamp in get_args(Timestamp):
                yield self.list_offsets(node, timestamp)
            for offset in range(self.row(node).high_watermark + 1):
                yield self.delete_records(node, offset)

    def probes(self) -> list[Move]:
        """What is written at the end of a run in which all other producers are idempotent."""
        leaders = self.leaders() if self.options.idempotence else ()
        return [self.ask_of(self.produce(node, -1)) for node in leaders]

    # --- What brokers do by themselves

    def wanted(self, *kinds: str) -> list[tuple[int, KnownInput]]:
        """What they would do, of these kinds in this order."""
        return [
            (node, want)
            for kind in kinds
            for node in self.brokers
            for want in self.state(node).wants
            if want.kind == kind
        ]

    def wants(self, *kinds: str) -> list[Move]:
        return [self.want_of(*each) for each in self.wanted(*kinds)]

    def want_of(self, node: int, want: KnownInput) -> Move:
        return self.move(partial(self.words, node, want.value), partial(self.act, node, want))

    def names_failed(self, node: int) -> bool:
        """Whether the controller is yet to hear of a directory that has failed (R18)."""
        return False

    def damages(self, node: int, lossy: bool) -> list[tuple[int, int]]:
        """What a crash may leave: where the log ends, and its first unreadable batch."""
        row = self.row(node)
        end, durable = len(row.log), max(row.flushed, row.log_start)
        found = [(end, UNDEFINED)]
        bears = self.losses.at_once_with(node) <= spared(configuration_of(self.options))
        if lossy and bears and durable < end:
            cuts = [o for o in range(durable, end) if not o or ends_batch(row.log[o - 1])]
            found += [(cut, UNDEFINED) for cut in cuts[::-1]] + [(end, cut) for cut in cuts[:1]]
        return found

    def leaders(self) -> list[int]:
        return [n for n in self.brokers if self.is_running(n) and self.row(n).role == "Leader"]

    def with_status(self, *status: str) -> list[int]:
        return [n for n in self.brokers if self.row(n).status in status]

    def is_everywhere(self, value: int) -> bool:
        """Whether every replica knows the record of this value to be committed."""
        for node in self.replicas:
            row = self.row(node)
            if value not in [record.value for record in row.log[: row.high_watermark]]:
                return False
        return True

    def is_news_for(self, node: int) -> bool:
        """Whether a follower's fetch would find something, or tell something."""
        pace = self.pace
        assert isinstance(pace, _NoClock)
        return pace.is_news_for(node)

    def is_refused(self, node: int) -> bool:
        """Whether the broker that this one was is still taken to be alive."""
        at = self.brokers.index(node)
        known = self.controller.registrations[at]
        row, alive = self.row(node), self.controller.contacts[at].live
        waits = row.status == "Starting" and row.broker_epoch == UNDEFINED
        other = known.epoch != UNDEFINED and known.incarnation != row.incarnation
        return waits and alive and other

    def missing(self) -> str:
        """Empty if everybody is in the ISR, or what is not well."""
        return missing_in(self)


def _link(message: KnownInput) -> Link:
    return message.value.source, message.value.destination


def _is_of_producer(m: Any) -> bool:
    """Whether it answers the idempotent producer."""
    return isinstance(m, ProduceResponse) and m.request.producer == PRODUCER


def appending_words(value: int, node: int) -> str:
    return f"the producer appends {value}, by broker {node}"


def resending_words(node: int) -> str:
    return f"the producer sends again, to broker {node}"


def breaking_words(node: int, connection: int) -> str:
    return f"the producer's connection {connection} to broker {node} breaks"
