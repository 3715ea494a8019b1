"""A transactional id at its coordinator: the row of the reference, and what follows from its steps.

The row's log is what the partition of transactions says of the id: a record is appended there, and
acknowledged when all in-sync replicas have it. Markers go to the leaders of partitions directly,
and again when they were not taken. A `Tenure` is a broker that coordinates, for as long as it leads
in one epoch; who takes over begins when all that its log had is committed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

import msgspec

from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.logs import Leadership
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.producers import NODE, Producers
from kraftcheck.reference.kit.tail_log import last_of
from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.transactions.coordinator import CoordinatorHandlers, current
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    NO_CLIENT,
    Acknowledged,
    AddPartitions,
    AppendTimeout,
    EndTxn,
    Fence,
    InitProducerId,
    Loaded,
    MarkerReply,
    MarkersAgain,
    MarkersDone,
    Tail,
    TransactionTimeout,
    TxnRecord,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.rules import COMPLETED, TransactionRules
from kraftcheck.reference.transactions.types import Constants, Coordinators, TailLog, no_coordinator

AGAIN_MS: Final = 100
PREPARED: Final = ("PrepareCommit", "PrepareAbort")
_HANDLERS: Final = {
    version: CoordinatorHandlers(
        TransactionRules(
            Constants(partitions=(), version=version, clients=(NODE,), max_coordinators=1)
        )
    )
    for version in (1, 2)
}


class TransactionRecord(msgspec.Struct, frozen=True):
    """What is durable of a transaction."""

    id: str
    producer: int
    timeout_ms: int
    version: int
    last: int
    """The epoch from which its producer asked for the one that it has."""
    partitions: tuple[tuple[str, int], ...]
    """By their number, topic id and index."""
    state: TxnRecord


class Transaction:
    """The transactions of an id, in one tenure of their coordinator."""

    def __init__(self, tenure: Tenure, record: TransactionRecord) -> None:
        self._tenure = tenure
        self.id = record.id
        self.producer = record.producer
        self._timeout_ms = record.timeout_ms
        self._version = record.version
        self._last = record.last
        self._partitions = {key: at + 1 for at, key in enumerate(record.partitions)}
        number = tenure.epoch + 1
        self._row = Coordinators(
            coordinators=tuple(map(no_coordinator, range(1, number + 1))),
            leader_epoch=number,
            log=TailLog(record.state, (), (Tail(()),)),
            leaderless=(),
        )
        self._asked: Callable[[str, int], None] | None = None
        """Who hears of the transition that was begun."""
        self._adding: deque[tuple[AddPartitions, int, Callable[[str, int], None]]] = deque()
        self._began_ms = UNDEFINED
        self._begun = 0
        """How many transactions were: a timer of an earlier one is none."""

    def begin(self) -> None:
        """X4."""
        self._step(Loaded())
        if current(self._row).txn.state == "Ongoing":
            self._wait()

    @property
    def epoch(self) -> int:
        return current(self._row).txn.epoch

    def described(self) -> Message:
        """KIP-664. Partitions of which a marker is still to come; times are the cluster's own."""
        c, topics = current(self._row), dict[str, list[int]]()
        txn = c.txn
        for (id, index), number in self._partitions.items():
            of = self._tenure.named(id)
            if of and number in (c.to_mark if txn.state in PREPARED else txn.partitions):
                topics.setdefault(of, []).append(index)
        return {
            "transactional_id": self.id,
            "transaction_state": txn.state,
            "transaction_timeout_ms": self._timeout_ms,
            "transaction_start_time_ms": self._began_ms,
            "producer_id": self.producer,
            "producer_epoch": txn.epoch,
            "topics": [{"topic": of, "partitions": told} for of, told in topics.items()],
        }

    # --- What is asked

    def initialize(self, timeout_ms: int, expected: int, told: Callable[[str, int], None]) -> None:
        """X7. expected: the epoch that the producer has, if it has one (KIP-360)."""
        txn = current(self._row).txn
        if expected == self._last != UNDEFINED and (txn.state, txn.epoch) == (
            "Empty",
            expected + 1,
        ):
            # It was given the next one, and has not heard of it.
            told("NONE", txn.epoch)
            return
        if expected not in (UNDEFINED, txn.epoch):
            told("PRODUCER_FENCED", UNDEFINED)
            return
        self._timeout_ms, self._last = timeout_ms, expected
        self._ask(InitProducerId(NODE, COORDINATOR, NODE), self._version, told)

    def add(
        self, key: tuple[str, int], epoch: int, version: int, told: Callable[[str, int], None]
    ) -> None:
        """Version 1: a client; 2: a partition's leader, when it has the first batch.

        One after the other, where Kafka's leaders ask for several at once
        (AddPartitionsToTxnManager).
        """
        client = NODE if version == 1 else NO_CLIENT
        m = AddPartitions(NODE, COORDINATOR, client, self._number(key), epoch, 0)
        self._adding.append((m, version, told))
        if len(self._adding) == 1:
            self._add_next()

    def _add_next(self) -> None:
        m, version, told = self._adding[0]

        def heard(error: str, epoch: int) -> None:
            self._adding.popleft()
            if self._adding:
                self._add_next()
            told(error, epoch)

        self._ask(m, version, heard)

    def verify(self, key: tuple[str, int], epoch: int, told: Callable[[str, int], None]) -> None:
        self._ask(Verify(NODE, COORDINATOR, self._number(key), epoch, 0), 1, told)

    def end(
        self, epoch: int, committed: bool, version: int, told: Callable[[str, int], None]
    ) -> None:
        m = EndTxn(NODE, COORDINATOR, NODE, epoch, "Commit" if committed else "Abort", 0)
        self._ask(m, version, told)

    def _number(self, key: tuple[str, int]) -> int:
        return self._partitions.setdefault(key, len(self._partitions) + 1)

    def _ask(self, m: Any, version: int, told: Callable[[str, int], None]) -> None:
        """`told` hears the error, and the epoch, now or when the transition's record is there."""
        if current(self._row).pending.state == "None":
            self._version = version
        earlier, self._asked = self._asked, told
        outcome = self._step(m)
        assert outcome is not None, "a coordinator that is active answers"
        if outcome.ignored:
            self._asked = earlier
            told(outcome.ignored, UNDEFINED)
        elif not self._waits():
            self._asked = earlier

    # --- Steps

    def _step(self, input: Any) -> Any:
        before = self._row
        outcome = _HANDLERS[self._version].step(before, input)
        if outcome is None:
            return None
        self._row = outcome.row
        if len(self._row.log.leader) > len(before.log.leader):
            self._write(last_of(self._row.log))
        for each in outcome.sent:
            if isinstance(each, WriteTxnMarkers):
                self._mark(each)
            else:
                self._tell("NONE", getattr(each, "epoch", UNDEFINED))
        if current(before).txn.state != "Ongoing" and current(self._row).txn.state == "Ongoing":
            self._wait()
        if not isinstance(input, AppendTimeout):
            self._go_on()
        return outcome

    def _go_on(self) -> None:
        """With what needs nobody."""
        c = current(self._row)
        if c.pending.state == "PrepareEpochFence":
            # Whoever had the id is fenced, and its transaction aborted; who asks is to ask again.
            self._tell("CONCURRENT_TRANSACTIONS", UNDEFINED)
            self._step(Fence())
        elif c.pending.state in COMPLETED and not c.pending.logged and not c.to_mark:
            self._step(MarkersDone())

    def _tell(self, error: str, epoch: int) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            asked(error, epoch)

    def _waits(self) -> bool:
        return self._asked is not None

    def leave(self) -> None:
        """Another coordinator has taken over: whoever waits is told so."""
        adding, self._adding = self._adding, deque()
        if not adding:
            self._tell("NOT_COORDINATOR", UNDEFINED)
        for _, _, told in adding:
            told("NOT_COORDINATOR", UNDEFINED)

    def _write(self, state: TxnRecord) -> None:
        record = TransactionRecord(
            self.id,
            self.producer,
            self._timeout_ms,
            self._version,
            self._last,
            tuple(self._partitions),
            state,
        )
        self._tenure.write(record, self._written)

    def _written(self, error: str) -> None:
        if error == "NONE":
            self._step(Acknowledged())
            return
        # X3. The record may be there or not.
        self._tell(error, UNDEFINED)
        self._step(AppendTimeout())
        self._tenure.after(AGAIN_MS, self._go_on)

    # --- Markers: X22 to X25

    def _mark(self, m: WriteTxnMarkers) -> None:
        key = list(self._partitions)[m.partition - 1]
        self._tenure.mark(key, self.producer, m, self._version, lambda e: self._marked(m, e))

    def _marked(self, m: WriteTxnMarkers, error: str) -> None:
        """X24. A partition that there is no more needs none."""
        if error in ("NONE", "UNKNOWN_TOPIC_OR_PARTITION"):
            self._step(MarkerReply(m.partition, COORDINATOR, m))
        elif error not in ("INVALID_PRODUCER_EPOCH", "TRANSACTION_COORDINATOR_FENCED"):
            self._tenure.after(AGAIN_MS, lambda: self._mark_again(m))

    def _mark_again(self, m: WriteTxnMarkers) -> None:
        outcome = _HANDLERS[self._version].step(self._row, MarkersAgain())
        if outcome is not None and m in outcome.sent:
            self._mark(m)

    # --- Time: X26

    def _wait(self) -> None:
        self._begun += 1
        self._began_ms = self._tenure.now_ms()
        begun = self._begun

        def over() -> None:
            is_ongoing = current(self._row).txn.state == "Ongoing"
            if self._begun == begun and self._step(TransactionTimeout()) is None and is_ongoing:
                self._tenure.after(AGAIN_MS, over)

        self._tenure.after(self._timeout_ms, over)


class Cluster(Protocol):
    """Where a coordinator is."""

    core: Core
    producers: Producers


class Tenure(Leadership):
    def __init__(
        self,
        of: Cluster,
        log: ServedPartition,
        broker: int,
        records: dict[str, TransactionRecord],
    ) -> None:
        super().__init__(of.core, log, broker)
        self._producers = of.producers
        self.transactions = {id: Transaction(self, record) for id, record in records.items()}

    def begin(self) -> None:
        for each in list(self.transactions.values()):
            each.begin()

    def leave(self) -> None:
        for each in self.transactions.values():
            each.leave()

    def now_ms(self) -> int:
        """As clients count time: since the cluster began."""
        setup, world = self.core.setup, self.core.world
        return world.now // setup.of_clients(1)

    def write(self, record: TransactionRecord, told: Callable[[str], None]) -> None:
        super().write(record, self.still(told))

    def named(self, id: str) -> str:
        """The topic of an id, in hexadecimal; "" if there is none any more."""
        topic = self.core.world.with_id(bytes.fromhex(id))
        return topic.name if topic is not None else ""

    def mark(
        self,
        key: tuple[str, int],
        producer: int,
        m: WriteTxnMarkers,
        version: int,
        told: Callable[[str], None],
    ) -> None:
        """To the partition's leader, as this broker knows it."""
        topic = self.core.world.with_id(bytes.fromhex(key[0]))
        if topic is None:
            told("UNKNOWN_TOPIC_OR_PARTITION")
            return
        partition, world = topic.partitions[key[1]], self.core.world
        leader = partition.known_to(self.broker).leader
        reached = leader != NOBODY and world.reaches(self.broker, leader)
        if not reached or partition.row(leader).role != "Leader":
            told("NOT_LEADER_OR_FOLLOWER")
        else:
            heard = self.still(told)
            self._producers.mark(partition, leader, producer, m, version, heard)
