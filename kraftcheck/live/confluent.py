"""Clients by confluent-kafka, which is librdkafka."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import confluent_kafka
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from kraftcheck.live.library import ClientError, Ending, Got, Listener, Options, SendResult

NEVER_SENT = frozenset(
    {KafkaError._PURGE_QUEUE, KafkaError._QUEUE_FULL, KafkaError.MSG_SIZE_TOO_LARGE}
)
SILENT = {"log_level": 0, "log.connection.close": False}
MUTE = logging.Logger("librdkafka")
"""Of no use to anybody: what the library complains of is in the journal as the error it gave."""
MUTE.addHandler(logging.NullHandler())
BATCH = 500


class Confluent:
    """The library. See kraftcheck/live/library.py for what its methods mean."""

    @property
    def version(self) -> str:
        return f"confluent-kafka {confluent_kafka.version()}"

    def sender(self, bootstrap: str, options: Options) -> ConfluentSender:
        return ConfluentSender(bootstrap, options)

    def reader(self, bootstrap: str, group: str, options: Options) -> ConfluentReader:
        return ConfluentReader(bootstrap, group, options)


class ConfluentSender:
    def __init__(self, bootstrap: str, options: Options) -> None:
        settings = {**SILENT, "bootstrap.servers": bootstrap, **options}
        self._producer = Producer(settings, logger=MUTE)

    def send(self, topic: str, partition: int, value: bytes) -> SendResult:
        told: list[tuple[KafkaError | None, int | None]] = []
        try:
            self._producer.produce(
                topic,
                value=value,
                partition=partition,
                on_delivery=lambda error, message: told.append((error, message.offset())),
            )
            while not told:
                self._producer.poll(0.1)
        except KafkaException as problem:  # fatal: nothing more will be told
            told.append((problem.args[0], None))
        error, offset = told[0]
        if error is not None:
            return SendResult(None, error.name(), error.code() in NEVER_SENT, error.fatal())
        return SendResult(None if offset is None or offset < 0 else offset)

    def initialise(self, seconds: float) -> None:
        try:
            self._producer.init_transactions(seconds)
        except KafkaException as problem:
            raise ClientError(problem.args[0].name()) from None

    def write(
        self, topic: str, sends: Sequence[tuple[int, bytes]], seconds: float
    ) -> Sequence[SendResult]:
        told = [SendResult(error="no answer")] * len(sends)
        try:
            self._producer.begin_transaction()
            for at, (place, value) in enumerate(sends):
                note = partial(_note, told, at)
                self._producer.produce(topic, value=value, partition=place, on_delivery=note)
            self._producer.flush(seconds)
        except KafkaException as problem:
            error = SendResult(error=problem.args[0].name())
            return [error if each.error else each for each in told]
        return told

    def end(self, abort: bool, seconds: float) -> Ending:
        try:
            if abort:
                self._producer.abort_transaction(seconds)
            else:
                self._producer.commit_transaction(seconds)
        except KafkaException as problem:
            error: KafkaError = problem.args[0]
            if error.txn_requires_abort() and not abort:
                with suppress(KafkaException):
                    self._producer.abort_transaction(seconds)
                    return Ending("fail", error=error.name())
            return Ending("info", error=error.name())
        return Ending("ok")

    def close(self) -> None:
        """Nothing: the library's producer ends when nobody knows it any more."""


def _note(told: list[SendResult], at: int, error: KafkaError | None, message: Message) -> None:
    told[at] = SendResult(message.offset()) if error is None else SendResult(error=error.name())


class ConfluentReader:
    def __init__(self, bootstrap: str, group: str, options: Options) -> None:
        settings = {
            **SILENT,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            **options,
        }
        self._consumer = Consumer(settings, logger=MUTE)

    def assign(self, topic: str, partitions: int, starts: Sequence[int] = ()) -> None:
        offsets = starts or [0] * partitions
        self._consumer.assign([TopicPartition(topic, p, offsets[p]) for p in range(partitions)])

    def subscribe(self, topic: str, listener: Listener) -> None:
        def within(told: Callable[[Sequence[int]], None]) -> Callable[..., None]:
            return lambda _, places: told([each.partition for each in places])

        self._consumer.subscribe(
            [topic],
            on_assign=within(listener.assigned),
            on_revoke=within(listener.revoked),
            on_lost=within(listener.lost),
        )

    def poll(self, seconds: float) -> list[Got]:
        try:
            messages = self._consumer.consume(BATCH, timeout=seconds)
        except KafkaException as error:
            raise ClientError(error.args[0].name()) from None
        return [_got(message) for message in messages if message.error() is None]

    def commit(self, topic: str, offsets: Mapping[int, int], mark: str) -> None:
        places = [TopicPartition(topic, at, offset, mark) for at, offset in offsets.items()]
        try:
            told = self._consumer.commit(offsets=places, asynchronous=False)
        except KafkaException as error:
            raise ClientError(error.args[0].name()) from None
        for place in told or ():
            if place.error is not None:
                raise ClientError(place.error.name())

    def member(self) -> str | None:
        return self._consumer.memberid() or None

    def positions(self) -> dict[int, int]:
        places = self._consumer.position(self._consumer.assignment())
        return {place.partition: place.offset for place in places if place.offset >= 0}

    def end(self, topic: str, partition: int, seconds: float) -> int:
        try:
            offsets: tuple[int, int] | None = self._consumer.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=seconds, cached=False
            )
        except KafkaException as error:
            raise ClientError(error.args[0].name()) from None
        if offsets is None:
            raise ClientError("timed out")
        return offsets[1]

    def close(self) -> None:
        self._consumer.close()


def _got(message: Message) -> Got:
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None
    data = value if isinstance(value, bytes) else str(value).encode()
    return Got(partition, offset, data, message.leader_epoch())
