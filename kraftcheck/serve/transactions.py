"""Transactions: who coordinates them, and their requests.

The leader of `__transaction_state` coordinates every transaction. What it does with a request is
decided by `reference/transactions` (docs/protocol-rules.md, X1 to X26), with a row for each
transactional id. The row's log is what this partition's log says of the id: a record is appended
there, and acknowledged when all in-sync replicas have it. A coordinator that takes over begins when
all that its log had is committed. Markers go to the leaders of partitions directly, and again when
they were not taken.

Both protocols, as clients ask: of one epoch for many transactions (version 1) and of an epoch for
each (version 2, KIP-890).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from kraftcheck.serve.apis import ERRORS
from kraftcheck.serve.batches import Batch
from kraftcheck.serve.codec import Message
from kraftcheck.serve.core import Core
from kraftcheck.serve.groups import answered
from kraftcheck.serve.logs import Followed, Promise, wrapped, write
from kraftcheck.serve.producers import NODE, Producers, Transactional
from kraftcheck.serve.requests import Request, Serve, Waiting
from kraftcheck.serve.world import TRANSACTIONS, ServedPartition
from reference.partition.log import Record as Entry
from reference.partition.messages import NOBODY
from reference.partition.types import UNDEFINED
from reference.transactions.coordinator import CoordinatorHandlers, current
from reference.transactions.log import last_of
from reference.transactions.messages import (
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
from reference.transactions.rules import COMPLETED, TransactionRules
from reference.transactions.types import Constants, Coordinators, TailLog, no_coordinator

LEAST_MS, MOST_MS = 1, 900_000
"""What a transaction's timeout may be (transaction.max.timeout.ms)."""
AGAIN_MS: Final = 100
TV2_END: Final = 5
"""The version of EndTxn from which on a client speaks version 2."""
_HANDLERS: Final = {
    version: CoordinatorHandlers(
        TransactionRules(
            Constants(partitions=(), version=version, clients=(NODE,), max_coordinators=1)
        )
    )
    for version in (1, 2)
}


class TransactionRecord(msgspec.Struct, frozen=True):
    """What is durable of a transaction. last: the epoch from which its producer asked for the one
    that it has. partitions: by their number, topic id and index.
    """

    id: str
    producer: int
    timeout_ms: int
    version: int
    last: int
    partitions: tuple[tuple[str, int], ...]
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
        """Version 1: a client; 2: a partition's leader, when it has the first batch. One after the
        other, where Kafka's leaders ask for several at once (X12).
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
        begun = self._begun

        def over() -> None:
            is_ongoing = current(self._row).txn.state == "Ongoing"
            if self._begun == begun and self._step(TransactionTimeout()) is None and is_ongoing:
                self._tenure.after(AGAIN_MS, over)

        self._tenure.after(self._timeout_ms, over)


class Tenure:
    """A broker in one epoch of the log's leadership."""

    def __init__(
        self,
        of: Transactions,
        log: ServedPartition,
        broker: int,
        records: dict[str, TransactionRecord],
    ) -> None:
        self._of = of
        self._log = log
        self._broker = broker
        self.epoch = log.row(broker).leader_epoch
        self.transactions = {id: Transaction(self, record) for id, record in records.items()}

    def begin(self) -> None:
        for each in list(self.transactions.values()):
            each.begin()

    def leave(self) -> None:
        for each in self.transactions.values():
            each.leave()

    def is_active(self) -> bool:
        row = self._log.row(self._broker)
        leads = row.status == "Running" and row.role == "Leader"
        return leads and row.leader_epoch == self.epoch

    def write(self, record: TransactionRecord, told: Callable[[str], None]) -> None:
        def heard(error: str) -> None:
            if self.is_active():
                told(error)

        write(self._of.core, self._broker, self._log, wrapped(record), heard)

    def after(self, real_ms: int, what: Callable[[], None]) -> None:
        self._of.core.after(real_ms, lambda: what() if self.is_active() else None)

    def mark(
        self,
        key: tuple[str, int],
        producer: int,
        m: WriteTxnMarkers,
        version: int,
        told: Callable[[str], None],
    ) -> None:
        """To the partition's leader, as this broker knows it."""
        topic = self._of.core.world.with_id(bytes.fromhex(key[0]))
        if topic is None:
            told("UNKNOWN_TOPIC_OR_PARTITION")
            return
        partition = topic.partitions[key[1]]
        leader = partition.known(self._broker).leader
        reached = leader != NOBODY and self._of.core.world.reaches(self._broker, leader)
        if not reached or partition.row(leader).role != "Leader":
            told("NOT_LEADER_OR_FOLLOWER")
        else:

            def heard(error: str) -> None:
                if self.is_active():
                    told(error)

            self._of.producers.mark(partition, leader, producer, m, version, heard)


class Transactions:
    def __init__(self, core: Core, producers: Producers) -> None:
        self.core = core
        self.producers = producers
        self._made = 0
        self._tenures: dict[int, Tenure] = {}
        self._records: Followed[dict[str, TransactionRecord]] | None = None
        producers.ask = self._asked_by_leader
        core.listeners.append(self._look)
        self.served: dict[str, Serve] = {
            "InitProducerId": self._init_producer_id,
            "AddPartitionsToTxn": self._add_partitions,
            "AddOffsetsToTxn": self._add_offsets,
            "EndTxn": self._end,
        }

    @property
    def log(self) -> ServedPartition | None:
        return self.core.world.partition(TRANSACTIONS, 0)

    def _look(self, news: Iterable[ServedPartition]) -> None:
        """Whoever leads the log now goes on with what another one began."""
        log = self.log
        if log is None or log not in news:
            return
        for broker, known in list(self._tenures.items()):
            if not known.is_active():
                del self._tenures[broker]
                known.leave()
        for broker in log.brokers:
            self._tenure(broker)

    def _tenure(self, broker: int) -> tuple[str, Tenure | None]:
        """What a broker coordinates, or why nothing."""
        log = self.log
        if log is None:
            return "NOT_COORDINATOR", None
        row = log.row(broker)
        error = log.handlers.rules.list_offsets_error(row)
        if error != "NONE" or row.status != "Running":
            loading = error == "OFFSET_NOT_AVAILABLE"
            return "COORDINATOR_LOAD_IN_PROGRESS" if loading else "NOT_COORDINATOR", None
        known = self._tenures.get(broker)
        if known is None or not known.is_active():
            if self._records is None:
                self._records = Followed(self.core.world, log, dict, _take, committed=False)
            known = Tenure(self, log, broker, self._records.of(broker))
            self._tenures[broker] = known
            known.begin()
        return "NONE", known

    def _of(self, broker: int, id: str, producer: int) -> tuple[str, Transaction | None]:
        error, tenure = self._tenure(broker)
        if tenure is None:
            return error, None
        found = tenure.transactions.get(id)
        if found is None or found.producer != producer:
            return "INVALID_PRODUCER_ID_MAPPING", None
        return "NONE", found

    # --- Producer ids: X6, X7

    def new_id(self) -> int:
        self._made += 1
        return 1000 + self._made

    def _init_producer_id(self, request: Request) -> Message | Waiting:
        body, id = request.body, request.body["transactional_id"]
        if id is None:
            return {"producer_id": self.new_id(), "producer_epoch": 0}
        error, tenure = self._tenure(request.broker)
        if not id:
            error = "INVALID_REQUEST"
        elif tenure is not None and not LEAST_MS <= body["transaction_timeout_ms"] <= MOST_MS:
            error = "INVALID_TRANSACTION_TIMEOUT"
        if error != "NONE" or tenure is None:
            return _no_producer(error)
        found = tenure.transactions.get(id)
        said = body.get("producer_id", UNDEFINED), body.get("producer_epoch", UNDEFINED)
        if said[0] != UNDEFINED and (found is None or said[0] != found.producer):
            return _no_producer("PRODUCER_FENCED")
        if found is None:
            state = TxnRecord("Empty", UNDEFINED, (), 1)
            record = TransactionRecord(id, self.new_id(), 0, 2, UNDEFINED, (), state)
            found = tenure.transactions[id] = Transaction(tenure, record)
            found.begin()
        promise, transaction = Promise(request, hurries=True), found

        def told(error: str, epoch: int) -> None:
            if error != "NONE":
                promise.tell(_no_producer(error))
            else:
                promise.tell({"producer_id": transaction.producer, "producer_epoch": epoch})

        transaction.initialize(body["transaction_timeout_ms"], said[1], told)
        return answered(promise)

    # --- Partitions: X9, X28

    def _add_partitions(self, request: Request) -> Message | Waiting:
        """Version 1. Brokers ask among themselves without the wire."""
        body = request.body
        if request.version > 3:
            return {"error_code": ERRORS["INVALID_REQUEST"]}
        ids = body["v3_and_below_transactional_id"], body["v3_and_below_producer_id"]
        error, found = self._of(request.broker, *ids)
        results: list[Message] = []
        left: list[tuple[Message, tuple[str, int]]] = []
        world = self.core.world
        for topic in body["v3_and_below_topics"]:
            of = world.topics.get(topic["name"])
            slots: list[Message] = []
            results.append({"name": topic["name"], "results_by_partition": slots})
            for index in topic["partitions"]:
                slot: Message = {"partition_index": index, "partition_error_code": ERRORS[error]}
                slots.append(slot)
                if of is None or index >= len(of.partitions):
                    error = "UNKNOWN_TOPIC_OR_PARTITION"
                    slot["partition_error_code"] = ERRORS[error]
                else:
                    left.append((slot, (of.id.hex(), index)))
        answer: Message = {"results_by_topic_v3_and_below": results}
        if error != "NONE" or found is None:
            # All or nothing.
            for slot, _ in left:
                known = error != "UNKNOWN_TOPIC_OR_PARTITION"
                slot["partition_error_code"] = ERRORS[error if known else "OPERATION_NOT_ATTEMPTED"]
            return answer
        promise, transaction = Promise(request, hurries=True), found
        epoch = body["v3_and_below_producer_epoch"]

        def next_one(error: str, _: int) -> None:
            if error != "NONE":
                for topic in results:
                    for slot in topic["results_by_partition"]:
                        slot["partition_error_code"] = ERRORS[error]
                left.clear()
            if not left:
                promise.tell(answer)
                return
            _slot, key = left.pop(0)
            transaction.add(key, epoch, 1, next_one)

        next_one("NONE", 0)
        return answered(promise)

    def _add_offsets(self, request: Request) -> Message | Waiting:
        body = request.body
        error, found = self._of(request.broker, body["transactional_id"], body["producer_id"])
        if found is None:
            return {"error_code": ERRORS[error]}
        promise = Promise(request, hurries=True)
        key = key_of(self.core.world.offsets)
        found.add(key, body["producer_epoch"], 1, lambda error, _: promise.refuse(error))
        return answered(promise)

    def _asked_by_leader(
        self,
        broker: int,
        of: Transactional,
        producer: int,
        partition: ServedPartition,
        asked: Any,
        told: Callable[[str], None],
    ) -> None:
        """X11b."""
        log = self.log
        if log is None:
            told("COORDINATOR_NOT_AVAILABLE")
            return
        leader = log.known(broker).leader
        if leader == NOBODY or not self.core.world.reaches(broker, leader):
            told("COORDINATOR_NOT_AVAILABLE")
            return
        error, found = self._of(leader, of.id, producer)
        if found is None:
            told(error)
        elif isinstance(asked, Verify):
            found.verify(key_of(partition), asked.epoch, lambda error, _: told(error))
        else:
            found.add(key_of(partition), asked.epoch, 2, lambda error, _: told(error))

    # --- The end: X19, X20

    def _end(self, request: Request) -> Message | Waiting:
        body = request.body
        error, found = self._of(request.broker, body["transactional_id"], body["producer_id"])
        if found is None:
            return {"error_code": ERRORS[error]}
        promise, transaction = Promise(request, hurries=True), found

        def told(error: str, epoch: int) -> None:
            answer: Message = {"error_code": ERRORS[error]}
            if error == "NONE":
                answer |= {"producer_id": transaction.producer, "producer_epoch": epoch}
            promise.tell(answer)

        version = 2 if request.version >= TV2_END else 1
        transaction.end(body["producer_epoch"], body["committed"], version, told)
        return answered(promise)


def key_of(partition: ServedPartition) -> tuple[str, int]:
    return partition.topic.id.hex(), partition.index


def _no_producer(error: str) -> Message:
    return {"error_code": ERRORS[error], "producer_id": UNDEFINED, "producer_epoch": UNDEFINED}


def _take(known: dict[str, TransactionRecord], _: Entry, batch: Batch) -> None:
    record = batch.value
    if isinstance(record, TransactionRecord):
        known[record.id] = record
