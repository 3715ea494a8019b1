"""Records in and out: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords.

What is decided about a partition is decided by its reference (reference/partition): each request is
one step of it, numbered so that no two are one (N5). Here is what lies before and behind that:
bytes and offsets, several partitions in one request, limits, waiting (W5, W7-W13; Kafka's
KafkaApis, DelayedProduce, DelayedFetch).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.batches import Batch, Refused, Undecodable, parsed, records_of
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.core import Closed, Core
from kraftcheck.kafka.serve.logs import Appending
from kraftcheck.kafka.serve.partition import FETCH_MAX, ServedPartition, ServedTopic
from kraftcheck.kafka.serve.producers import Producers, Transactional
from kraftcheck.kafka.serve.requests import ACKS, Request, Serve, Waiting, by_topic, named
from kraftcheck.kafka.serve.sessions import Sessions, Wanted
from kraftcheck.kafka.serve.world import INTERNAL
from kraftcheck.reference.partition.log import end_offset_for
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    ConsumerFetchRequest,
    ListOffsetsRequest,
    Timestamp,
)
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
HIGH_WATERMARK: Final = -1
"""Where records are to be deleted up to: what is committed."""
ALL: Final = -1

COMMITTED: Final = 1
TV2_PRODUCE: Final = 12
"""The version of Produce from which on a client speaks version 2 of transactions."""
LEADER_HINTS: Final = ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")


class Data:
    def __init__(self, core: Core, producers: Producers) -> None:
        self.core = core
        self.producers = producers
        self.world = core.world
        self.sessions = {broker: Sessions() for broker in core.setup.brokers}
        self.served: dict[str, Serve] = {
            "Produce": self._produce,
            "Fetch": self._fetch,
            "ListOffsets": self._list_offsets,
            "OffsetForLeaderEpoch": self._offset_for_leader_epoch,
            "DeleteRecords": self._delete_records,
        }

    def find(
        self, topic: ServedTopic | None, index: int, broker: int, by_id: bool
    ) -> tuple[ServedPartition | None, str]:
        """The partition, where this broker holds it; else why not."""
        if topic is None:
            return None, "UNKNOWN_TOPIC_ID" if by_id else "UNKNOWN_TOPIC_OR_PARTITION"
        partition = self.world.partition(topic.name, index)
        if partition is None:
            return None, "UNKNOWN_TOPIC_OR_PARTITION"
        return partition, "NONE" if broker in partition.brokers else "NOT_LEADER_OR_FOLLOWER"

    def leader_hint(self, partition: ServedPartition, broker: int) -> Message:
        known = partition.known_to(broker)
        return {"leader_id": known.leader, "leader_epoch": known.leader_epoch}

    def endpoints(self, hints: list[Message]) -> list[Message]:
        """Of the leaders that an answer names (KIP-951)."""
        if not hints:
            return []
        setup = self.core.setup
        leaders = sorted({hint["leader_id"] for hint in hints} - {UNDEFINED})
        return [{"node_id": b, "host": setup.host, "port": setup.ports[b]} for b in leaders]

    # --- Produce: W5, W7, W8

    def _produce(self, request: Request) -> Message | Waiting | None:
        body, acks = request.body, request.body["acks"]
        produce = Produce(self, request)
        for topic in body["topic_data"]:
            of, by_id = self.world.topic_of_clients(topic), "name" not in topic
            slots: list[Message] = []
            produce.responses.append({**named(topic), "partition_responses": slots})
            for asked in topic["partition_data"]:
                slot: Message = {"index": asked["index"], "base_offset": UNDEFINED}
                slots.append(slot)
                partition, error = self.find(of, asked["index"], request.broker, by_id)
                if acks not in ACKS:
                    error = "INVALID_REQUIRED_ACKS"
                if partition is None or error != "NONE":
                    produce.settle(slot, partition, error)
                else:
                    produce.append(partition, slot, asked["records"])
        if acks == 0:
            if produce.failed:
                raise Closed(f"a produce without acks failed: {produce.failed[0]}")
            return None
        since = self.world.now
        if not produce.is_ready():
            self.core.at_once()
        if produce.is_ready() and request.broker not in self.world.paused:
            return produce.answer()
        return self.core.wait(produce, body["timeout_ms"], since)

    # --- Fetch: W9 to W12

    def _fetch(self, request: Request) -> Message | Waiting:
        body = request.body
        sessions = self.sessions[request.broker]
        if (
            body["replica_id"] >= 0
            if "replica_id" in body
            else body["replica_state"].get("replica_id", UNDEFINED) >= 0
        ):
            return {"error_code": ERRORS["INVALID_REQUEST"]}
        session, error = sessions.begin(body, request.version >= 13)
        if error != "NONE":
            return {"error_code": ERRORS[error]}
        fetch = Fetch(self, request, session.wanted if session else Sessions.wanted(body))
        fetch.session = session
        if fetch.read() or body["max_wait_ms"] <= 0 or not fetch.wanted:
            return fetch.last_answer()
        return self.core.wait(fetch, body["max_wait_ms"])

    # --- ListOffsets: W13

    def _list_offsets(self, request: Request) -> Message:
        broker, committed = request.broker, request.body.get("isolation_level") == COMMITTED
        return self._of_each(
            *(request, "name", "partition_index"),
            lambda partition, asked: self._listed(partition, broker, asked, committed),
        )

    def _of_each(
        self,
        request: Request,
        name: str,
        index: str,
        answer: Callable[[ServedPartition, Message], Message],
    ) -> Message:
        """What is answered of each partition that this broker holds.

        name, index: what the topic's name and the partition's number are called.
        """

        def slot_of(topic: Message, asked: Message) -> Message:
            of, at = self.world.topics.get(topic[name]), asked[index]
            partition, error = self.find(of, at, request.broker, False)
            if partition is None or error != "NONE":
                return {index: at, "error_code": ERRORS[error]}
            return {index: at, **answer(partition, asked)}

        return {"topics": by_topic(request.body["topics"], slot_of)}

    def _listed(
        self, partition: ServedPartition, broker: int, asked: Message, committed: bool
    ) -> Message:
        """committed: transactions that are open do not count."""
        timestamp, epoch = asked["timestamp"], asked.get("current_leader_epoch", UNDEFINED)
        if timestamp < EARLIEST_LOCAL:
            return {"error_code": ERRORS["UNSUPPORTED_VERSION"]}
        earliest = timestamp in (EARLIEST, EARLIEST_LOCAL)
        what: Timestamp = "Earliest" if earliest else "Latest"
        told = self.ask(
            partition,
            broker,
            lambda number: ListOffsetsRequest(CLIENTS, broker, number, epoch, what),
        )
        row = partition.row(broker)
        if told is None or told.error != "NONE":
            return {"error_code": ERRORS[told.error if told else "NOT_LEADER_OR_FOLLOWER"]}
        end = told.offset
        if committed and not earliest:
            stable = self.producers.stable(partition, broker, row)
            end = min(end, self.world.entry_at(partition, row, stable))
        if earliest or timestamp == LATEST:
            offset = self.world.offset_of(partition, row, end)
            if earliest:
                offset = self.world.start_of(partition, row)
            first = row.epoch_cache[0].epoch if row.epoch_cache else UNDEFINED
            return {"offset": offset, "leader_epoch": first if earliest else row.leader_epoch}
        try:
            return self._by_time(partition, row, end, timestamp)
        except Undecodable:
            # What cannot be read Kafka would not have appended.
            return {"error_code": ERRORS["CORRUPT_MESSAGE"]}

    def _by_time(
        self, partition: ServedPartition, row: BrokerRow, end: int, timestamp: int
    ) -> Message:
        """The first record at or above a time; or, of all, that with the largest."""
        start = self.world.start_of(partition, row)
        batches = [(r.epoch, self.world.batch(r)) for r in row.log[row.log_start : end]]
        if timestamp == MAX_TIMESTAMP:
            timestamp = max([batch.max_time for _, batch in batches], default=0)
        for epoch, batch in batches:
            if batch.first_time >= timestamp and batch.base >= start:
                # The time of a batch is that of its first record: it need not be decompressed.
                found = {"offset": batch.base, "timestamp": batch.first_time}
                return {**found, "leader_epoch": epoch}
            if batch.max_time >= timestamp:
                for record in records_of(batch):
                    if record.timestamp >= timestamp and record.offset >= start:
                        found = {"offset": record.offset, "timestamp": record.timestamp}
                        return {**found, "leader_epoch": epoch}
        return {}

    def ask(
        self, partition: ServedPartition, broker: int, request: Callable[[int], Any]
    ) -> Any | None:
        """What the reference answers at once; None: it does not answer."""
        told: list[Any] = []
        number = self.core.number(told.append)
        self.world.give(partition, broker, request(number))
        self.core.forget(number)
        return told[0] if told else None

    # --- OffsetForLeaderEpoch: P13, KIP-320

    def _offset_for_leader_epoch(self, request: Request) -> Message:
        return self._of_each(
            *(request, "topic", "partition"),
            lambda partition, asked: self._epoch_end(partition, request.broker, asked),
        )

    def _epoch_end(self, partition: ServedPartition, broker: int, asked: Message) -> Message:
        row = partition.row(broker)
        current = asked["current_leader_epoch"]
        error = "NONE" if row.role == "Leader" else "NOT_LEADER_OR_FOLLOWER"
        if current not in (UNDEFINED, row.leader_epoch):
            error = "FENCED" if current < row.leader_epoch else "UNKNOWN"
            error += "_LEADER_EPOCH"
        if error != "NONE":
            return {"error_code": ERRORS[error]}
        end = end_offset_for(row.epoch_cache, len(row.log), asked["leader_epoch"])
        offset = UNDEFINED
        if end.epoch != UNDEFINED:
            offset = self.world.offset_of(partition, row, end.end_offset)
        return {"leader_epoch": end.epoch, "end_offset": offset}

    # --- DeleteRecords: S9, KIP-107

    def _delete_records(self, request: Request) -> Message | Waiting:
        delete = Delete(self, request)
        for topic in request.body["topics"]:
            of = self.world.topics.get(topic["name"])
            for asked in topic["partitions"]:
                partition, error = self.find(of, asked["partition_index"], request.broker, False)
                if of is not None and of.name in INTERNAL:
                    partition, error = None, "INVALID_TOPIC_EXCEPTION"
                delete.begin(topic["name"], asked, partition, error)
        if delete.is_ready():
            return delete.answer()
        return self.core.wait(delete, request.body["timeout_ms"])


class Produce(Appending):
    """A produce request: a slot for each partition, which is settled once (W8)."""

    def __init__(self, data: Data, request: Request) -> None:
        super().__init__(data.core, request)
        self.responses: list[Message] = []
        self.failed: list[str] = []
        self._data = data
        self._hints: list[Message] = []

    def append(self, partition: ServedPartition, slot: Message, records: bytes | None) -> None:
        """Checks a batch and gives it to the leader."""
        request = self.request
        row = partition.row(request.broker)
        acks = request.body["acks"]
        leads = row.role == "Leader"
        enough = acks != ALL or len(row.isr) >= partition.constants.effective_min_isr
        try:
            batch: Batch = parsed(records, partition.topic.max_message_bytes)
        except Refused as error:
            # Who leads, and whether enough are in sync, is asked first (W7).
            told = "NOT_ENOUGH_REPLICAS" if leads and not enough else error.error
            self.settle(slot, partition, told if leads else "NOT_LEADER_OR_FOLLOWER", str(error))
            return

        def answered(error: str, offset: int) -> None:
            if error == "NONE":
                slot["base_offset"] = offset
                row = partition.row(request.broker)
                slot["log_start_offset"] = self._data.world.start_of(partition, row)
            self.settle(slot, partition, error)

        if not batch.is_transactional:
            if self._is_in_transaction(partition, batch):
                self.settle(slot, partition, "INVALID_TXN_STATE")
                return
            ignored = self.appends.append(partition, batch, acks, answered)
            if ignored and acks == 0:
                self.failed.append(ignored)
            return
        id = request.body["transactional_id"]
        if not id or acks != ALL or not leads:
            wrong = "INVALID_REQUIRED_ACKS" if acks != ALL else "INVALID_TXN_STATE"
            self.settle(slot, partition, wrong if leads else "NOT_LEADER_OR_FOLLOWER")
            return
        version = 2 if request.version >= TV2_PRODUCE else 1
        of = Transactional(id, version, request.version >= TV2_PRODUCE - 1)
        producers = self._data.producers
        producers.append(partition, request.broker, batch, of, self.appends, answered)

    def _is_in_transaction(self, partition: ServedPartition, batch: Batch) -> bool:
        """A producer with an open transaction writes nothing else (X13)."""
        if batch.producer == UNDEFINED:
            return False
        ongoing = self._data.producers.ongoing(partition, self.request.broker)
        return batch.producer in ongoing.first

    def settle(
        self, slot: Message, partition: ServedPartition | None, error: str, why: str | None = None
    ) -> None:
        slot["error_code"] = ERRORS[error]
        if error == "NONE":
            return
        self.failed.append(error)
        slot["error_message"] = why
        if partition is not None and error in LEADER_HINTS and self.request.version >= 10:
            hint = self._data.leader_hint(partition, self.request.broker)
            slot["current_leader"] = hint
            self._hints.append(hint)

    def answer(self) -> Message:
        endpoints = self._data.endpoints(self._hints)
        return {"responses": self.responses, "node_endpoints": endpoints}


class Delete(Waiting):
    """A request to delete records.

    It waits until the log begins there on every live replica (Kafka's DelayedDeleteRecords).
    """

    def __init__(self, data: Data, request: Request) -> None:
        super().__init__(request)
        self._data = data
        self._topics: dict[str, list[Message]] = {}
        self._open: list[tuple[Message, ServedPartition, int]] = []
        """Answers that are not known yet, of which partition, and where its log is to begin."""

    def begin(
        self, topic: str, asked: Message, partition: ServedPartition | None, error: str
    ) -> None:
        slot: Message = {"partition_index": asked["partition_index"], "low_watermark": UNDEFINED}
        self._topics.setdefault(topic, []).append(slot)
        offset = asked["offset"]
        if partition is not None and error == "NONE":
            world, broker = self._data.world, self.request.broker
            row = partition.row(broker)
            end = world.offset_of(partition, row, row.high_watermark)
            offset = end if offset == HIGH_WATERMARK else offset
            if row.role != "Leader":
                error = "NOT_LEADER_OR_FOLLOWER"
            elif not 0 <= offset <= end:
                error = "OFFSET_OUT_OF_RANGE"
            else:
                told: list[str] = []
                number = self._data.core.number(lambda response: told.append(response.error))
                world.delete_before(partition, broker, number, offset)
                self._data.core.forget(number)
                error = told[0] if told else "NONE"  # It waits, as this does.
        slot["error_code"] = ERRORS[error]
        if partition is not None and error == "NONE":
            self._open.append((slot, partition, offset))
            self.partitions |= {partition}

    def is_ready(self) -> bool:
        for waiting in list(self._open):
            slot, partition, offset = waiting
            row = partition.row(self.request.broker)
            low = self._low_watermark(partition)
            if row.role != "Leader":
                slot["error_code"] = ERRORS["NOT_LEADER_OR_FOLLOWER"]
            elif low >= offset:
                slot["low_watermark"] = low
            elif self.is_over:
                slot["error_code"] = ERRORS["REQUEST_TIMED_OUT"]
            else:
                continue
            self._open.remove(waiting)
        return not self._open

    def _low_watermark(self, partition: ServedPartition) -> int:
        """The least start of a log that the controller has for alive."""
        alive = zip(partition.brokers, partition.controller.registrations, strict=True)
        live = [broker for broker, of in alive if not of.fenced and partition.is_running(broker)]
        world = self._data.world
        starts = [world.start_of(partition, partition.row(broker)) for broker in live]
        return min(starts, default=UNDEFINED)

    def answer(self) -> Message:
        self.is_ready()
        return {"topics": [{"name": n, "partitions": told} for n, told in self._topics.items()]}


class Fetch(Waiting):
    """A fetch of a consumer: read at once, or again when there is enough."""

    def __init__(self, data: Data, request: Request, wanted: dict[Any, Wanted]) -> None:
        super().__init__(request)
        self.hurries = False
        self.wanted = wanted
        self.session: Any = None
        self._data = data
        self._read: dict[Any, Message] = {}
        self._epochs: dict[Any, tuple[ServedPartition, int, int]] = {}
        """By partition of interest: it, the leader epoch, and the entry from which it is read."""
        self._committed = request.body.get("isolation_level") == COMMITTED

    def read(self) -> bool:
        """Whether there is enough to answer with (W9)."""
        body = self.request.body
        left, size, failed = body.get("max_bytes", 0x7FFFFFFF), 0, False
        self._read, self._epochs = {}, {}
        for key, wanted in self.wanted.items():
            told, taken = self._read_one(key, wanted, left, size == 0)
            self._read[key] = told
            failed |= told["error_code"] != 0
            size += taken
            left -= taken
        self.partitions = frozenset(each for each, _, _ in self._epochs.values())
        return failed or size >= body["min_bytes"]

    def _read_one(self, key: Any, wanted: Wanted, left: int, is_first: bool) -> tuple[Message, int]:
        data, broker, (topic, index) = self._data, self.request.broker, key
        by_id = isinstance(topic, bytes)
        of = data.world.with_id(topic) if by_id else data.world.topics.get(topic)
        told: Message = {"partition_index": index, "high_watermark": UNDEFINED, "records": b""}
        partition, error = data.find(of, index, broker, by_id)
        if partition is None or error != "NONE":
            return self._failed(told, partition, error), 0
        row = partition.row(broker)
        if wanted.offset < data.world.start_of(partition, row) and row.role == "Leader":
            return self._failed(told, partition, "OFFSET_OUT_OF_RANGE"), 0
        entry = data.world.entry_at(partition, row, wanted.offset)
        response = data.ask(
            partition,
            broker,
            lambda number: ConsumerFetchRequest(
                CLIENTS, broker, number, wanted.leader_epoch, entry, False
            ),
        )
        row = partition.row(broker)
        if response is None or response.error != "NONE":
            error = response.error if response else "NOT_LEADER_OR_FOLLOWER"
            return self._failed(told, partition, error), 0
        end = data.world.offset_of(partition, row, response.high_watermark)
        ongoing = data.producers.ongoing(partition, broker)
        stable = ongoing.stable(end)
        told |= {
            "error_code": 0,
            "high_watermark": end,
            "last_stable_offset": stable,
            "log_start_offset": data.world.start_of(partition, row),
            "aborted_transactions": None,
        }
        self._epochs[key] = partition, row.leader_epoch, entry
        taken: list[bytes | memoryview] = []
        size = batches = 0
        for record in response.records:
            found = data.world.batch(record)
            if self._committed and found.base >= stable:
                break
            whole = size + len(found.data) <= min(left, wanted.max_bytes)
            if not whole and not (is_first and not taken):
                break
            taken += found.pieces()
            size += len(found.data)
            batches += 1
        told["records"] = b"".join(taken)
        if self._committed:
            # X18: those that end behind where it begins, and begin before where it ends.
            read = data.world.offset_of(partition, row, entry + batches)
            told["aborted_transactions"] = [
                {"producer_id": each.producer, "first_offset": each.first}
                for each in ongoing.aborted
                if each.last >= wanted.offset and each.first < read
            ]
        return told, size

    def _failed(self, told: Message, partition: ServedPartition | None, error: str) -> Message:
        told["error_code"] = ERRORS[error]
        if partition is not None and error in LEADER_HINTS and self.request.version >= 16:
            told["current_leader"] = self._data.leader_hint(partition, self.request.broker)
        return told

    def is_ready(self) -> bool:
        """W10. What is there counts, and whatever else the answer would have to say."""
        if self.is_over:
            return True
        world, size = self._data.world, 0
        for key, (partition, epoch, entry) in self._epochs.items():
            row = partition.row(self.request.broker)
            if row.role != "Leader" or row.leader_epoch != epoch:
                return True
            if world.partition(partition.topic.name, partition.index) is not partition:
                return True
            end = min(row.high_watermark, entry + FETCH_MAX)
            if self._committed:
                stable = self._data.producers.stable(partition, self.request.broker, row)
                end = min(end, world.entry_at(partition, row, stable))
            if row.log_start > entry:
                return True
            there = sum(len(world.batch(r).data) for r in row.log[entry:end])
            size += min(there, self.wanted[key].max_bytes)
        return bool(size >= self.request.body["min_bytes"])

    def answer(self) -> Message:
        self.read()
        return self.last_answer()

    def last_answer(self) -> Message:
        """The answer with what was read last."""
        session, read = self.session, self._read
        if session is not None:
            read = session.changed(read)
        topics: dict[Any, list[Message]] = {}
        for (topic, _), told in read.items():
            topics.setdefault(topic, []).append(told)
        hints = [each["current_leader"] for each in read.values() if "current_leader" in each]
        return {
            "session_id": session.id if session is not None else 0,
            "responses": [
                {("topic_id" if isinstance(topic, bytes) else "topic"): topic, "partitions": told}
                for topic, told in topics.items()
            ],
            "node_endpoints": self._data.endpoints(hints),
        }
