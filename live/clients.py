"""Clients of one topic, each a thread that does one thing at a time and says what it was told.

Outcomes are honest. A produce that ends in an error may have been written, by that attempt or an
earlier one of the client library, unless the library says that it was never sent: so it is
indeterminate, and its process goes on under another number. A read that fails says nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from live.journal import Journal

NEVER_SENT = frozenset(
    {KafkaError._PURGE_QUEUE, KafkaError._QUEUE_FULL, KafkaError.MSG_SIZE_TOO_LARGE}
)
SILENT = {"log_level": 0, "log.connection.close": False}
MUTE = logging.Logger("librdkafka")
"""Of no use to anybody: what the library complains of is in the journal as the error it gave."""
MUTE.addHandler(logging.NullHandler())


class Counter:
    """Numbers that nobody else gets: values, and processes."""

    def __init__(self, first: int = 0) -> None:
        self._numbers = count(first)
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            return next(self._numbers)


class Setting:
    """What all clients of a topic share.

    pace: seconds that a producer rests after each record. processes: where several topics are
    recorded at once, theirs together. aborts: which share of transactions is aborted on purpose.
    """

    def __init__(
        self,
        journal: Journal,
        bootstrap: str,
        topic: str,
        partitions: int,
        pace: float = 0.0,
        processes: Counter | None = None,
        aborts: float = 0.0,
    ) -> None:
        self.journal = journal
        self.bootstrap = bootstrap
        self.topic = topic
        self.partitions = partitions
        self.pace = pace
        self.aborts = aborts
        self.values = Counter(1)
        self.processes = processes or Counter()
        self.done = threading.Event()
        self._epochs: dict[int, int] = {}
        self._lock = threading.Lock()

    def key(self, partition: int) -> str:
        return f"{self.topic}-{partition}"

    def note_epoch(self, message: Message) -> None:
        """A record's leader epoch is one more thing that a client is told."""
        epoch, partition = message.leader_epoch(), message.partition()
        if epoch is None or partition is None:
            return
        with self._lock:
            if epoch <= self._epochs.get(partition, -1):
                return
            self._epochs[partition] = epoch
        label = f"{self.key(partition)} leader epoch {epoch}"
        self.journal.moment("leader-epoch", label, key=self.key(partition))


def produce(
    setting: Setting,
    at: int,
    options: Mapping[str, Any],
    partition: int | None = None,
    shared: Producer | None = None,
) -> None:
    """A producer: one record, then the next when its fate is known.

    partition: the only one it writes to; None: one after the other, from `at` on. shared: the
    connections that it has in common with others, until the library gives them up.
    """
    producer = shared or connected(setting, options)
    process = setting.processes.next()
    for turn in count():
        if setting.done.wait(setting.pace):
            break
        place = (at + turn) % setting.partitions if partition is None else partition
        error = _send(setting, producer, process, place)
        if error is not None and error.code() not in NEVER_SENT:
            process = setting.processes.next()
        if error is not None and error.fatal():
            producer = connected(setting, options)


def greet(setting: Setting, options: Mapping[str, Any]) -> None:
    """One record to each partition: by then every leader knows that it leads.

    With acks=0 a leader that does not know it yet would lose records without a word.
    """
    producer = connected(setting, options)
    for partition in range(setting.partitions):
        _send(setting, producer, setting.processes.next(), partition)


def _send(setting: Setting, producer: Producer, process: int, place: int) -> KafkaError | None:
    """Sends a new value and waits until its fate is known; None: it was acknowledged."""
    told: list[tuple[KafkaError | None, int | None]] = []
    key, value = setting.key(place), setting.values.next()
    setting.journal.event(process, "invoke", "send", [["send", key, value]])
    try:
        producer.produce(
            setting.topic,
            value=str(value).encode(),
            partition=place,
            on_delivery=lambda error, message: told.append((error, message.offset())),
        )
        while not told:
            producer.poll(0.1)
    except KafkaException as problem:  # fatal: nothing more will be told
        told.append((problem.args[0], None))
    error, offset = told[0]
    if error is None:
        known = None if offset is None or offset < 0 else offset
        setting.journal.event(process, "ok", "send", [["send", key, [known, value]]])
    else:
        kind = "fail" if error.code() in NEVER_SENT else "info"
        asked = [["send", key, value]]
        setting.journal.event(process, kind, "send", asked, error=error.name())
    return error


def connected(setting: Setting, options: Mapping[str, Any]) -> Producer:
    """The client library's producer, which connects to the cluster."""
    return Producer({**SILENT, "bootstrap.servers": setting.bootstrap, **options}, logger=MUTE)


def consume(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """A consumer that is assigned every partition and reads on."""
    process = setting.processes.next()
    consumer = _assigned(setting, process, f"consume-{at}", options)
    try:
        while not setting.done.is_set():
            poll(setting, process, consumer)
    finally:
        consumer.close()


def ask_offsets(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """A client that asks for the latest offset of one partition after the other."""
    process = setting.processes.next()
    consumer = opened(setting, f"offsets-{at}", options)
    try:
        for turn in count(at):
            if setting.done.wait(0.02):
                break
            partition = turn % setting.partitions
            key = setting.key(partition)
            setting.journal.event(process, "invoke", "latest", [key, None])
            end, problem = _end(setting, consumer, partition, 5.0)
            if end is None:
                setting.journal.event(process, "fail", "latest", [key, None], error=problem)
            else:
                setting.journal.event(process, "ok", "latest", [key, end])
    finally:
        consumer.close()


def read_all(
    setting: Setting,
    options: Mapping[str, Any],
    patience: int = 60,
    process: int | None = None,
) -> bool:
    """The final phase: every partition from its beginning to its end, by one process.

    Returns whether every end was reached within `patience` polls without progress. The ends are
    asked for again in between: who was asked first need not lead any more.
    """
    process = setting.processes.next() if process is None else process
    consumer = _assigned(setting, process, "final", options)
    try:
        ends = _ends(setting, consumer)
        idle = 0
        while idle < patience:
            places = consumer.position(consumer.assignment())
            if len(ends) == setting.partitions and all(
                place.offset >= ends[place.partition] or ends[place.partition] == 0
                for place in places
            ):
                return True
            idle = 0 if poll(setting, process, consumer) else idle + 1
            if idle % 10 == 9:
                ends = _ends(setting, consumer)
        return False
    finally:
        consumer.close()


def _ends(setting: Setting, consumer: Consumer) -> dict[int, int]:
    """The latest offset of each partition that has told it."""
    found = {at: _end(setting, consumer, at, 10.0)[0] for at in range(setting.partitions)}
    return {at: end for at, end in found.items() if end is not None}


def _end(
    setting: Setting, consumer: Consumer, partition: int, seconds: float
) -> tuple[int | None, str]:
    """The latest offset; or None, and why there is none."""
    place = TopicPartition(setting.topic, partition)
    try:
        offsets: tuple[int, int] | None = consumer.get_watermark_offsets(
            place, timeout=seconds, cached=False
        )
    except KafkaException as error:
        return None, error.args[0].name()
    return (None, "timed out") if offsets is None else (offsets[1], "")


def opened(setting: Setting, group: str, options: Mapping[str, Any]) -> Consumer:
    """The client library's consumer, which reads nothing yet."""
    settings = {
        **SILENT,
        "bootstrap.servers": setting.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        **options,
    }
    return Consumer(settings, logger=MUTE)


def _assigned(setting: Setting, process: int, group: str, options: Mapping[str, Any]) -> Consumer:
    consumer = opened(setting, group, options)
    keys = [setting.key(partition) for partition in range(setting.partitions)]
    rewound = {"seek-to-beginning?": True}
    setting.journal.event(process, "invoke", "assign", keys, **rewound)
    consumer.assign([TopicPartition(setting.topic, p, 0) for p in range(setting.partitions)])
    setting.journal.event(process, "ok", "assign", keys, **rewound)
    return consumer


def poll(setting: Setting, process: int, consumer: Consumer) -> int:
    """One poll, written down. Returns how many records it gave."""
    setting.journal.event(process, "invoke", "poll", [["poll"]])
    try:
        messages = consumer.consume(500, timeout=0.2)
    except KafkaException as error:
        setting.journal.event(process, "fail", "poll", [["poll"]], error=error.args[0].name())
        return 0
    records = [message for message in messages if message.error() is None]
    for message in records:
        setting.note_epoch(message)
    setting.journal.event(process, "ok", "poll", [["poll", _by_key(setting, records)]])
    return len(records)


def _by_key(setting: Setting, messages: Sequence[Message]) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = {}
    for message in messages:
        partition, value = message.partition(), message.value()
        assert partition is not None
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        number = int(text) if text.isdigit() else text
        found.setdefault(setting.key(partition), []).append([message.offset(), number])
    return found
