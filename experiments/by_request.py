"""A transactional producer, request by request: each is sent when told, to whom it is told."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, Self

from kafka.errors import for_code
from kafka.protocol.metadata import FindCoordinatorRequest
from kafka.protocol.producer import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
)
from kafka.record.memory_records import MemoryRecordsBuilder

from experiments.tools import TOPIC
from kraftcheck.kafka.live.broker import Broker, NoAnswer
from kraftcheck.kafka.live.cluster import Cluster, ClusterError


def _name(code: int) -> str:
    return str(for_code(code).__name__)


DONE: Final = "NoError"
UNHEARD: Final = "no answer"
_AGAIN: Final = {UNHEARD, *(_name(code) for code in range(100) if for_code(code).retriable)}
PATIENCE_S: Final = 40.0
ANSWER_S: Final = 20.0
AGAIN_S: Final = 0.01
ADDED: Final = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.AddPartitionsToTxnTopic
SENT: Final = ProduceRequest.TopicProduceData


class Connections:
    """One to each broker that is asked; not for several threads at once. Use as a context."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._brokers: dict[str, Broker] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for broker in self._brokers.values():
            broker.close()

    def ask(self, name: str, request: Any, version: int) -> Any:
        """None: no answer."""
        if name not in self._brokers:
            host, _, port = self._cluster.node(name).listener.rpartition(":")
            self._brokers[name] = Broker(host, int(port), timeout=ANSWER_S)
        try:
            return self._brokers[name].ask(request, version)
        except NoAnswer:
            return None


def await_log(by: Connections, at: str) -> None:
    """Has that broker asked for a coordinator, which makes the transaction log, until there is one.

    Raises ClusterError: not in 40 seconds, or never.
    """
    request = FindCoordinatorRequest(key="any", key_type=1)
    _must(lambda: _told(by.ask(at, request, 3)), "a coordinator is there")


class Producer:
    """Of one partition of the topic.

    version: of its transactions, 1 or 2. leader: of the partition. Methods take the broker to ask
    as the coordinator, and return Kafka's last word.
    """

    def __init__(
        self, name: str, version: int, leader: str, timeout_s: float = 60, partition: int = 0
    ) -> None:
        self._name = name
        self._version = version
        self._leader = leader
        self._timeout_ms = int(timeout_s * 1000)
        self._partition = partition
        self._id = self._epoch = -1
        self._sequence = 0

    def init(self, by: Connections, at: str) -> None:
        """Until it is done. Raises ClusterError: not in 40 seconds, or never."""
        request = InitProducerIdRequest(
            transactional_id=self._name, transaction_timeout_ms=self._timeout_ms
        )

        def done() -> str:
            said = by.ask(at, request, 4)
            told = _told(said)
            if told == DONE:
                self._are(said)
            return told

        _must(done, f"{at} gives {self._name} an id")

    def add(self, by: Connections, at: str) -> None:
        """Adds the partition to a transaction, as version 1 does. Until it is done, likewise."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._name,
            v3_and_below_producer_id=self._id,
            v3_and_below_producer_epoch=self._epoch,
            v3_and_below_topics=[ADDED(name=TOPIC, partitions=[self._partition])],
        )

        def done() -> str:
            said = by.ask(at, request, 3)
            if said is None:
                return _told(None)
            (topic,) = said.results_by_topic_v3_and_below
            return _name(topic.results_by_partition[0].partition_error_code)

        _must(done, f"{at} adds the partition for {self._name}")

    def batch(self, value: int) -> ProduceRequest:
        """The request that brings one record, with the next sequence number."""
        built = MemoryRecordsBuilder(2, 0, 1 << 16, 0, True, self._id, self._epoch, self._sequence)
        built.append(int(time.time() * 1000), None, str(value).encode())
        built.close()
        part = SENT.PartitionProduceData(index=self._partition, records=built.buffer())
        topics = [SENT(name=TOPIC, partition_data=[part])]
        return ProduceRequest(
            transactional_id=self._name, acks=-1, timeout_ms=20_000, topic_data=topics
        )

    def send(self, by: Connections, batch: ProduceRequest) -> tuple[str, int]:
        """What the leader says to it, and the offset."""
        said = by.ask(self._leader, batch, 12 if self._version == 2 else 11)
        if said is None:
            return _told(None), -1
        part = said.responses[0].partition_responses[0]
        told = _name(part.error_code)
        self._sequence += told == DONE
        return told, part.base_offset

    def write(self, by: Connections, at: str, value: int) -> int:
        """Begins, or goes on, and writes one record. Returns its offset. Raises ClusterError."""
        if self._version == 1:
            self.add(by, at)
        found = -1

        def done() -> str:
            nonlocal found
            told, found = self.send(by, self.batch(value))
            return told

        _must(done, f"{self._leader} takes {value}")
        return found

    def end(self, by: Connections, at: str, committed: bool) -> str:
        """Asks once."""
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._id,
            producer_epoch=self._epoch,
            committed=committed,
        )
        said = by.ask(at, request, 5 if self._version == 2 else 3)
        told = _told(said)
        if told == DONE and self._version == 2:
            self._are(said)
        return told

    def must_end(self, by: Connections, at: str, committed: bool) -> None:
        """Until it is done. Raises ClusterError: not in 40 seconds, or never."""
        _must(lambda: self.end(by, at, committed), f"{at} ends what {self._name} has begun")

    def _are(self, said: Any) -> None:
        self._id, self._epoch, self._sequence = said.producer_id, said.producer_epoch, 0


def _must(ask: Callable[[], str], what: str) -> None:
    """Raises ClusterError: Kafka has another last word, or does not say it in 40 seconds."""
    deadline = time.monotonic() + PATIENCE_S
    while (told := ask()) != DONE:
        if told not in _AGAIN or time.monotonic() > deadline:
            raise ClusterError(f"refused: {what}: {told}")
        time.sleep(AGAIN_S)


def _told(said: Any) -> str:
    return UNHEARD if said is None else _name(said.error_code)
