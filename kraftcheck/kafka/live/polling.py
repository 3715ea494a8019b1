"""What brokers say of a topic while it is recorded, asked again and again, each for itself.

In `answers.jsonl` an answer about one partition is a line, with the times of question and answer on
the history's clock. kraftcheck/kafka/observed/answers.py describes the lines and reads them.

| what | API | who answers |
|---|---|---|
| partition | DescribeTopicPartitions; Metadata where a broker has none | every broker |
| earliest, high-watermark | ListOffsets, as a consumer asks | who takes itself for the leader |
| log-end | ListOffsets, as Kafka's replica debugger asks (replica id -2) | every replica |
| epoch-end | OffsetForLeaderEpoch, of the current epoch and the one before | who leads |
| quorum | DescribeQuorum, which brokers hand on | the active controller |
| stable | ListOffsets, as a consumer of committed records | who takes itself for the leader |
| producers | DescribeProducers | every replica |
| transaction | ListTransactions, then DescribeTransactions of those | who coordinates them |

The last three are asked where transactions are recorded.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from kafka.errors import for_code
from kafka.protocol.admin import (
    DescribeProducersRequest,
    DescribeQuorumRequest,
    DescribeTopicPartitionsRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.metadata import MetadataRequest

from kraftcheck.kafka.live.broker import Broker, NoAnswer
from kraftcheck.kafka.live.journal import Journal

EVERY_S: Final = 0.2
QUORUM_EVERY: Final = 5
"""Rounds from one question about the quorum to the next."""
CONSUMER, DEBUGGER = -1, -2
LATEST, EARLIEST = -1, -2
READ_COMMITTED: Final = 1
METADATA_TOPIC: Final = "__cluster_metadata"

Said = dict[str, Any]
"""Fields of a line that one answer holds, for one partition."""


class Question(NamedTuple):
    """What is asked of a broker about all partitions, and how an answer is read."""

    what: str
    request: Any
    version: int
    read: Callable[[Any], Iterator[Said]]


class Poller:
    """Use as a context: asks every broker in a thread of its own until the context ends.

    brokers: host and port by number. transactions: whether they are asked about as well.
    """

    def __init__(
        self,
        journal: Journal,
        path: Path,
        brokers: Mapping[int, tuple[str, int]],
        topic: str,
        partitions: int,
        transactions: bool = False,
    ) -> None:
        self._transactions = transactions
        self._journal = journal
        self._file = open(path, "wb")  # noqa: SIM115 (closed by the context)
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._topic = topic
        self._partitions = partitions
        self._encode = msgspec.json.Encoder().encode
        self._threads = [
            threading.Thread(target=self._poll, args=(number, Broker(*place)), daemon=True)
            for number, place in sorted(brokers.items())
        ]
        self.failed: OSError | None = None
        """Why nothing more could be written, if so."""

    def __enter__(self) -> Poller:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()
        self._file.close()

    def _poll(self, number: int, broker: Broker) -> None:
        epochs: dict[int, int] = {}
        """By partition, the epoch in which this broker last said that it leads."""
        turn = 0
        try:
            while not self._done.is_set():
                began = time.monotonic()
                begin = self._journal.now()
                try:
                    self._round(number, broker, epochs, turn)
                except NoAnswer as problem:
                    said = {"error": str(problem)}
                    self._write(number, "none", said, begin, self._journal.now())
                turn += 1
                self._done.wait(max(0.0, EVERY_S - (time.monotonic() - began)))
        except OSError as error:
            self.failed = error
        finally:
            broker.close()

    def _round(self, number: int, broker: Broker, epochs: dict[int, int], turn: int) -> None:
        for question in self._questions(broker, epochs, turn):
            begin = self._journal.now()
            response = broker.ask(question.request, question.version)
            end = self._journal.now()
            for said in question.read(response):
                self._write(number, question.what, said, begin, end)
                if question.what == "high-watermark":
                    partition = int(said["key"].rpartition("-")[2])
                    epochs.pop(partition, None)
                    if said.get("epoch", -1) >= 0:
                        epochs[partition] = said["epoch"]

    def _write(
        self, number: int, what: str, said: Said, begin: int, end: int | None = None
    ) -> None:
        line = {"broker": number, "what": what, "begin": begin, "end": end or begin, **said}
        with self._lock:
            self._file.write(self._encode(line) + b"\n")

    # -- Questions

    def _questions(self, broker: Broker, epochs: dict[int, int], turn: int) -> Iterator[Question]:
        """Each is made when the one before has been answered, of which it may depend."""
        yield from self._about_partitions(broker)
        if self._transactions:
            yield from self._about_transactions(broker)
        version = broker.version(ListOffsetsRequest, 7)
        if version is not None and version >= 4:  # from there on an answer names its epoch
            for what, at, asker in (
                ("earliest", EARLIEST, CONSUMER),
                ("high-watermark", LATEST, CONSUMER),
                ("log-end", LATEST, DEBUGGER),
            ):
                yield Question(what, self._list_offsets(at, asker), version, self._offsets)
        version = broker.version(OffsetForLeaderEpochRequest, 3)
        if version is not None and version >= 3 and epochs:
            for back in (1, 0):
                request = self._epoch_ends(epochs, back)
                yield Question("epoch-end", request, version, self._ends(dict(epochs), back))
        version = broker.version(DescribeQuorumRequest, 1)
        if version is not None and turn % QUORUM_EVERY == 0:
            asked = DescribeQuorumRequest.TopicData
            one = asked.PartitionData(partition_index=0)
            topic = asked(topic_name=METADATA_TOPIC, partitions=[one])
            yield Question("quorum", DescribeQuorumRequest(topics=[topic]), version, _quorum)

    def _about_partitions(self, broker: Broker) -> Iterator[Question]:
        version = broker.version(DescribeTopicPartitionsRequest, 0)
        if version is not None:
            topic = DescribeTopicPartitionsRequest.TopicRequest(name=self._topic)
            described = DescribeTopicPartitionsRequest(
                topics=[topic], response_partition_limit=2000, cursor=None
            )
            yield Question("partition", described, version, self._described)
            return
        version = broker.version(MetadataRequest, 9)
        if version is not None and version >= 7:  # from there on it tells leader epochs
            wanted = MetadataRequest.MetadataRequestTopic(name=self._topic)
            request = MetadataRequest(
                topics=[wanted],
                allow_auto_topic_creation=False,
                include_cluster_authorized_operations=False,
                include_topic_authorized_operations=False,
            )
            yield Question("partition", request, version, self._described)

    def _about_transactions(self, broker: Broker) -> Iterator[Question]:
        """The last stable offset comes before the high watermark, which it must not be above."""
        version = broker.version(ListOffsetsRequest, 7)
        if version is not None and version >= 4:
            request = self._list_offsets(LATEST, CONSUMER, READ_COMMITTED)
            yield Question("stable", request, version, self._offsets)
        version = broker.version(DescribeProducersRequest, 0)
        if version is not None:
            indexes = list(range(self._partitions))
            topic = DescribeProducersRequest.TopicRequest(
                name=self._topic, partition_indexes=indexes
            )
            yield Question("producers", DescribeProducersRequest(topics=[topic]), version, _known)
        version = broker.version(ListTransactionsRequest, 0)
        if version is None:
            return
        ids: list[str] = []
        every = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
        yield Question("listed", every, version, partial(_listed, into=ids))
        version = broker.version(DescribeTransactionsRequest, 0)
        if version is not None and ids:
            described = DescribeTransactionsRequest(transactional_ids=ids)
            yield Question("transaction", described, version, _transactions)

    def _list_offsets(self, at: int, asker: int, isolation: int = 0) -> Any:
        topic = ListOffsetsRequest.ListOffsetsTopic
        partitions = [
            topic.ListOffsetsPartition(partition_index=p, current_leader_epoch=-1, timestamp=at)
            for p in range(self._partitions)
        ]
        asked = [topic(name=self._topic, partitions=partitions)]
        return ListOffsetsRequest(replica_id=asker, isolation_level=isolation, topics=asked)

    def _epoch_ends(self, epochs: Mapping[int, int], back: int) -> Any:
        """Naming the current epoch, so that whoever is in another one refuses."""
        topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        partitions = [
            topic.OffsetForLeaderPartition(
                partition=p, current_leader_epoch=epoch, leader_epoch=epoch - back
            )
            for p, epoch in sorted(epochs.items())
            if epoch >= back
        ]
        asked = [topic(topic=self._topic, partitions=partitions)]
        return OffsetForLeaderEpochRequest(replica_id=CONSUMER, topics=asked)

    # -- Answers

    def _described(self, response: Any) -> Iterator[Said]:
        for topic in response.topics:
            for each in topic.partitions:
                if each.partition_index >= self._partitions:
                    continue  # a topic that is there may have more than are recorded
                elr = getattr(each, "eligible_leader_replicas", None)
                said = {
                    "key": f"{self._topic}-{each.partition_index}",
                    "leader": each.leader_id,
                    "epoch": each.leader_epoch,
                    "replicas": sorted(each.replica_nodes),
                    "isr": sorted(each.isr_nodes),
                    "elr": None if elr is None else sorted(elr),
                }
                yield {**said, **_wrong(each.error_code)}

    def _offsets(self, response: Any) -> Iterator[Said]:
        for topic in response.topics:
            for each in topic.partitions:
                key = f"{self._topic}-{each.partition_index}"
                if each.error_code:
                    yield {"key": key, **_wrong(each.error_code)}
                else:
                    yield {"key": key, "offset": each.offset, "epoch": each.leader_epoch}

    def _ends(self, epochs: Mapping[int, int], back: int) -> Callable[[Any], Iterator[Said]]:
        def read(response: Any) -> Iterator[Said]:
            for topic in response.topics:
                for each in topic.partitions:
                    current = epochs[each.partition]
                    key = f"{self._topic}-{each.partition}"
                    said = {"key": key, "epoch": current, "asked": current - back}
                    if each.error_code:
                        yield {**said, **_wrong(each.error_code)}
                    else:
                        yield {**said, "found": each.leader_epoch, "offset": each.end_offset}

        return read


def _quorum(response: Any) -> Iterator[Said]:
    if response.error_code:
        yield {"key": METADATA_TOPIC, **_wrong(response.error_code)}
        return
    for topic in response.topics:
        for each in topic.partitions:
            ends = {str(voter.replica_id): voter.log_end_offset for voter in each.current_voters}
            yield {
                "key": METADATA_TOPIC,
                "leader": each.leader_id,
                "epoch": each.leader_epoch,
                "offset": each.high_watermark,
                "ends": ends,
                **_wrong(each.error_code),
            }


def _known(response: Any) -> Iterator[Said]:
    for topic in response.topics:
        for each in topic.partitions:
            producers = sorted(
                (p.producer_id, p.producer_epoch, p.last_sequence, p.coordinator_epoch,
                 p.current_txn_start_offset)
                for p in each.active_producers
            )  # fmt: skip
            key = f"{topic.name}-{each.partition_index}"
            yield {"key": key, "producers": producers, **_wrong(each.error_code)}


def _listed(response: Any, into: list[str]) -> Iterator[Said]:
    """Says nothing itself."""
    into += sorted(each.transactional_id for each in response.transaction_states)
    yield from ()


def _transactions(response: Any) -> Iterator[Said]:
    for each in response.transaction_states:
        yield {
            "id": each.transactional_id,
            "state": each.transaction_state,
            "producer": each.producer_id,
            "producer_epoch": each.producer_epoch,
            **_wrong(each.error_code),
        }


def _wrong(code: int) -> Said:
    return {"error": for_code(code).__name__} if code else {}
