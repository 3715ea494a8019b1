"""Transactions: who coordinates them, and their requests.

The leader of `__transaction_state` coordinates every transaction. What it does with a request is
decided by `reference/transactions` (docs/reference/protocol-rules.md, X1 to X26), with a row for
each transactional id (coordinator.py). Both protocols are served, as clients ask: of one epoch for
many transactions (version 1) and of an epoch for each (version 2, KIP-890).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final, get_args

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Batch
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.coordinator import Tenure, Transaction, TransactionRecord
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.groups import answered
from kraftcheck.kafka.serve.logs import Followed, Promise, not_leading
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.producers import Producers, Transactional
from kraftcheck.kafka.serve.requests import Request, Serve, Waiting
from kraftcheck.kafka.serve.world import TRANSACTIONS
from kraftcheck.reference.partition.log import Record as Entry
from kraftcheck.reference.partition.messages import NOBODY
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.transactions.messages import TxnRecord, TxnState, Verify

LEAST_MS, MOST_MS = 1, 900_000
"""What a transaction's timeout may be (transaction.max.timeout.ms)."""
STATES: Final = (*get_args(TxnState), "PrepareEpochFence", "Dead")
"""Kafka's names; the last two are never told: who fences has begun to abort (X8)."""
TV2_END: Final = 5
"""The version of EndTxn from which on a client speaks version 2."""


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
            "InitProducerId": _as_known(4, self._init_producer_id),
            "AddPartitionsToTxn": _as_known(2, self._add_partitions),
            "AddOffsetsToTxn": _as_known(2, self._add_offsets),
            "EndTxn": _as_known(2, self._end),
            "DescribeTransactions": self._describe,
            "ListTransactions": self._list,
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
        error = not_leading(log, broker)
        if error == "NONE" and log.row(broker).status != "Running":
            error = "NOT_COORDINATOR"
        if error != "NONE":
            return error, None
        known = self._tenures.get(broker)
        if known is None or not known.is_active():
            if self._records is None:
                self._records = Followed(self.core.world, log, dict, _take, committed=False)
            known = Tenure(self, log, broker, self._records.state_of(broker))
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

    def made_up_to(self, id: int) -> None:
        """Ids up to this one have been given (restoring.py)."""
        self._made = max(self._made, id - 1000)

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

        def finish(error: str, epoch: int) -> None:
            if error != "NONE":
                promise.tell(_no_producer(error))
            else:
                promise.tell({"producer_id": transaction.producer, "producer_epoch": epoch})

        transaction.initialize(body["transaction_timeout_ms"], said[1], finish)
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
        leader = log.known_to(broker).leader
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

        def finish(error: str, epoch: int) -> None:
            answer: Message = {"error_code": ERRORS[error]}
            if error == "NONE":
                answer |= {"producer_id": transaction.producer, "producer_epoch": epoch}
            promise.tell(answer)

        version = 2 if request.version >= TV2_END else 1
        transaction.end(body["producer_epoch"], body["committed"], version, finish)
        return answered(promise)

    # --- What is told of them: KIP-664, KIP-994, KIP-1152

    def _describe(self, request: Request) -> Message:
        error, tenure = self._tenure(request.broker)
        told = []
        for id in request.body["transactional_ids"]:
            found = tenure.transactions.get(id) if tenure else None
            if found is not None:
                told.append(found.described())
                continue
            why = error if tenure is None else "TRANSACTIONAL_ID_NOT_FOUND"
            told.append({"error_code": ERRORS[why if id else "INVALID_REQUEST"]})
            told[-1]["transactional_id"] = id
        return {"transaction_states": told}

    def _list(self, request: Request) -> Message:
        """Of this coordinator; who is none has none."""
        body = request.body
        error, tenure = self._tenure(request.broker)
        if error == "COORDINATOR_LOAD_IN_PROGRESS":
            return {"error_code": ERRORS[error]}
        try:
            pattern = re.compile(body.get("transactional_id_pattern") or "")
        except re.error:
            return {"error_code": ERRORS["INVALID_REGULAR_EXPRESSION"]}
        states, producers = {*body["state_filters"]}, body["producer_id_filters"]
        least, told = body.get("duration_filter", UNDEFINED), []
        for each in tenure.transactions.values() if tenure else ():
            said = each.described()
            lasts = tenure.now_ms() - said["transaction_start_time_ms"] if tenure else 0
            if (
                (not states or said["transaction_state"] in states)
                and (not producers or said["producer_id"] in producers)
                and (least < 0 or lasts > least)
                and (not pattern.pattern or pattern.fullmatch(each.id))
            ):
                named = ("transactional_id", "producer_id", "transaction_state")
                told.append({key: said[key] for key in named})
        return {
            "unknown_state_filters": [each for each in body["state_filters"] if each not in STATES],
            "transaction_states": told,
        }


def key_of(partition: ServedPartition) -> tuple[str, int]:
    return partition.topic.id.hex(), partition.index


def _as_known(first: int, serve: Serve) -> Serve:
    """Who speaks a version before `first` has not heard of PRODUCER_FENCED (KIP-588; KafkaApis)."""

    def served(request: Request) -> Message | Waiting | None:
        if request.version < first:
            also = request.finish
            request.finish = lambda said: _without_fenced(said if also is None else also(said))
        return serve(request)

    return served


def _without_fenced(said: Message) -> Message:
    fenced, older = ERRORS["PRODUCER_FENCED"], ERRORS["INVALID_PRODUCER_EPOCH"]
    if said.get("error_code") == fenced:
        return said | {"error_code": older}
    for topic in said.get("results_by_topic_v3_and_below", ()):
        for slot in topic["results_by_partition"]:
            if slot["partition_error_code"] == fenced:
                slot["partition_error_code"] = older
    return said


def _no_producer(error: str) -> Message:
    return {"error_code": ERRORS[error], "producer_id": UNDEFINED, "producer_epoch": UNDEFINED}


def _take(known: dict[str, TransactionRecord], _: Entry, batch: Batch) -> None:
    record = batch.value
    if isinstance(record, TransactionRecord):
        known[record.id] = record
