"""Clients by kafka-python, which is Python down to the socket.

What it does otherwise than librdkafka, so that histories mean the same: it reads uncommitted
records unless told not to, and it waits without limit for the end of a transaction.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import kafka
from kafka.errors import KafkaError, RetriableError

from kraftcheck.live.library import (
    ClientError,
    Ending,
    Got,
    LibraryError,
    Listener,
    Options,
    SendResult,
)

BATCH: Final = 500
OTHERWISE: Final = {
    "enable.idempotence": "enable_idempotence",
    "message.timeout.ms": "delivery_timeout_ms",
    "transactional.id": "transactional_id",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
}
"""Options whose names differ from librdkafka's by more than the dots."""
SLACK_S: Final = 5.0
"""How much longer than the library we wait for what it has promised to give up."""

PRODUCER: Final = kafka.KafkaProducer.DEFAULT_CONFIG
CONSUMER: Final = kafka.KafkaConsumer.DEFAULT_CONFIG

_log = logging.getLogger("kafka")
_log.addHandler(logging.NullHandler())
_log.propagate = False  # what the library complains of is in the journal as the error it gave


class KafkaPython:
    """The library. See kraftcheck/live/library.py for what its methods mean.

    api_version: of the brokers; None: they are asked.
    """

    def __init__(self, api_version: tuple[int, ...] | None = None) -> None:
        self._fixed: dict[str, Any] = {"api_version": api_version} if api_version else {}

    @property
    def version(self) -> str:
        return f"kafka-python {kafka.__version__}"

    def sender(self, bootstrap: str, options: Options) -> KafkaPythonSender:
        return KafkaPythonSender(bootstrap, {**_translated(options, PRODUCER), **self._fixed})

    def reader(self, bootstrap: str, group: str, options: Options) -> KafkaPythonReader:
        try:
            settings = {**_translated(options, CONSUMER), **self._fixed}
            return KafkaPythonReader(bootstrap, group, settings)
        except KafkaError as error:  # it asks the brokers at once
            raise LibraryError(f"{bootstrap}: kafka-python: {_name(error)}") from None


def _translated(options: Options, known: Mapping[str, Any]) -> dict[str, Any]:
    """known: the options of such a client; those that only the other kind has are left out."""
    others = {**PRODUCER, **CONSUMER}.keys() - known.keys()
    named = {OTHERWISE.get(name, name.replace(".", "_")): each for name, each in options.items()}
    found = {k: _typed(each, known.get(k)) for k, each in named.items() if k not in others}
    if found.get("acks") in ("0", "1"):
        found["acks"] = int(found["acks"])
    return found


def _typed(value: Any, default: Any) -> Any:
    """A property that was given as text, of the type that the library's own has."""
    if not isinstance(value, str) or default is None or isinstance(default, str):
        return value
    if isinstance(default, bool):
        return value == "true"
    with suppress(ValueError):  # some say numbers or words, such as acks
        return type(default)(value) if isinstance(default, int | float) else value
    return value


def _name(error: BaseException) -> str:
    return type(error).__name__


class KafkaPythonSender:
    """The library connects when it is made, so a producer is made when it is first of use."""

    def __init__(self, bootstrap: str, options: dict[str, Any]) -> None:
        timeout_ms = options.get("delivery_timeout_ms", 120_000)
        self._patience = timeout_ms / 1000 + SLACK_S
        self._options = {
            "bootstrap_servers": bootstrap.split(","),
            "max_block_ms": timeout_ms,
            "metrics_enabled": False,
            **options,
        }
        self._made: kafka.KafkaProducer | None = None

    def _producer(self) -> kafka.KafkaProducer:
        if self._made is None:
            self._made = kafka.KafkaProducer(**self._options)
        return self._made

    def send(self, topic: str, partition: int, value: bytes) -> SendResult:
        try:
            future = self._producer().send(topic, value, partition=partition)
        except KafkaError as error:  # before it was given to who sends
            return SendResult(error=_name(error), never_sent=True, fatal=_is_fatal(error))
        try:
            offset = future.get(timeout=self._patience).offset
        except KafkaError as error:
            return SendResult(error=_name(error), fatal=_is_fatal(error))
        return SendResult(offset if offset >= 0 else None)

    def initialise(self, seconds: float) -> None:
        self._options["max_block_ms"] = int(seconds * 1000)
        try:
            self._producer().init_transactions()
        except KafkaError as error:
            raise ClientError(_name(error)) from None

    def write(
        self, topic: str, sends: Sequence[tuple[int, bytes]], seconds: float
    ) -> Sequence[SendResult]:
        producer, told = self._producer(), []
        try:
            producer.begin_transaction()
            futures = [producer.send(topic, value, partition=place) for place, value in sends]
            producer.flush(seconds)
        except KafkaError as error:
            return [SendResult(error=_name(error))] * len(sends)
        for future in futures:
            try:
                told.append(SendResult(future.get(timeout=0.0).offset))
            except KafkaError as error:
                told.append(SendResult(error=_name(error)))
        return told

    def end(self, abort: bool, seconds: float) -> Ending:
        producer = self._producer()
        try:
            _within(seconds, producer.abort_transaction if abort else producer.commit_transaction)
        except TimeoutError:
            return Ending("info", error="timed out")
        except KafkaError as error:
            return Ending("info", error=_name(error)) if abort else self._given_up(error, seconds)
        return Ending("ok")

    def _given_up(self, error: KafkaError, seconds: float) -> Ending:
        """A commit that was refused on this side can still be aborted; no other can."""
        try:
            _within(seconds, self._producer().abort_transaction)
        except (KafkaError, TimeoutError):
            return Ending("info", error=_name(error))
        return Ending("fail", error=_name(error))

    def close(self) -> None:
        """What is still pending is over its time already; its thread is left behind with it."""
        if self._made is not None:
            with suppress(KafkaError):
                self._made.close(timeout=SLACK_S)


def _is_fatal(error: KafkaError) -> bool:
    """Whether another producer is to go on: one more of them does no harm where it need not be."""
    return not isinstance(error, RetriableError)


def _within(seconds: float, work: Callable[[], None]) -> None:
    """Does what the library does without a limit of time.

    Raises TimeoutError: it goes on, and nobody will know how it ends; KafkaError.
    """
    problems: list[KafkaError] = []

    def tried() -> None:
        try:
            work()
        except KafkaError as error:
            problems.append(error)

    thread = threading.Thread(target=tried, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    if problems:
        raise problems[0]


class KafkaPythonReader:
    def __init__(self, bootstrap: str, group: str, options: dict[str, Any]) -> None:
        settings = {
            "bootstrap_servers": bootstrap.split(","),
            "group_id": group,
            "enable_auto_commit": False,
            "auto_offset_reset": "earliest",
            "isolation_level": "read_committed",
            "metrics_enabled": False,
            **options,
        }
        self._consumer = kafka.KafkaConsumer(**settings)
        self._listening: _Listening | None = None

    def assign(self, topic: str, partitions: int, starts: Sequence[int] = ()) -> None:
        places = [kafka.TopicPartition(topic, p) for p in range(partitions)]
        self._consumer.assign(places)
        for place in places:
            self._consumer.seek(place, starts[place.partition] if starts else 0)

    def subscribe(self, topic: str, listener: Listener) -> None:
        self._listening = _Listening(listener)
        self._consumer.subscribe([topic], listener=self._listening)

    def poll(self, seconds: float) -> list[Got]:
        try:
            found = self._consumer.poll(timeout_ms=int(seconds * 1000), max_records=BATCH)
        except KafkaError as error:
            raise ClientError(_name(error)) from None
        return [_got(record) for records in found.values() for record in records]

    def commit(self, topic: str, offsets: Mapping[int, int], mark: str) -> None:
        if self._listening is not None and self._listening.within:
            # Its loop, which runs the callback, would wait for itself.
            raise ClientError("kafka-python commits nothing within a callback")
        places = {
            kafka.TopicPartition(topic, at): kafka.OffsetAndMetadata(offset, mark, -1)
            for at, offset in offsets.items()
        }
        try:
            self._consumer.commit(places, timeout_ms=int(SLACK_S * 1000))
        except KafkaError as error:
            raise ClientError(_name(error)) from None

    def member(self) -> str | None:
        return self._consumer.group_metadata().member_id or None

    def positions(self) -> dict[int, int]:
        found = {}
        for place in sorted(self._consumer.assignment()):
            try:
                offset = self._consumer.position(place, timeout_ms=1000)
            except KafkaError:
                continue
            if offset is not None:
                found[place.partition] = offset
        return found

    def end(self, topic: str, partition: int, seconds: float) -> int:
        place = kafka.TopicPartition(topic, partition)
        try:
            offsets = self._consumer.end_offsets([place], timeout_ms=int(seconds * 1000))
            return int(offsets[place])
        except KafkaError as error:
            raise ClientError(_name(error)) from None
        except KeyError:
            raise ClientError("timed out") from None

    def close(self) -> None:
        with suppress(KafkaError):
            self._consumer.close(autocommit=False, timeout_ms=2000)


class _Listening(kafka.ConsumerRebalanceListener):  # type: ignore[misc]  # has no types
    """within: whether a callback is under way."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.within = False

    def _tell(self, callback: Callable[[Sequence[int]], None], places: Any) -> None:
        self.within = True
        try:
            callback([place.partition for place in places])
        finally:
            self.within = False

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._tell(self._listener.assigned, assigned)

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._tell(self._listener.revoked, revoked)

    def on_partitions_lost(self, lost: Any) -> None:
        self._tell(self._listener.lost, lost)


def _got(record: Any) -> Got:
    epoch = record.leader_epoch
    value = record.value if isinstance(record.value, bytes) else str(record.value).encode()
    known = None if epoch is None or epoch < 0 else epoch
    return Got(record.partition, record.offset, value, known)
