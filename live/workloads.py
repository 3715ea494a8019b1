"""What clients of a recording do: read and write a log, share it as a group, or write it in
transactions.

log: producers, and consumers that are assigned every partition. groups: consumers subscribe and
commit what they have read, so that partitions move between them. txn: producers write several
records at once or not at all, and abort some on purpose.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from live.clients import Setting, ask_offsets, connected, consume, opened, poll, produce

Role = Callable[[Setting, int, Mapping[str, Any]], None]

TRANSACTION_S = 20.0
"""How long a transaction may take to be opened, committed or aborted."""
AGAIN_S = 0.5
"""From a producer that could not begin to the next."""


class Workload(NamedTuple):
    """Who is at work, each in a thread of its own."""

    producer: Role
    consumer: Role
    asker: Role = ask_offsets


def subscribe(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """A member of the topic's group, which commits what each poll gave it."""
    process = setting.processes.next()
    consumer = opened(setting, f"{setting.topic}-group", options)
    keys = [setting.key(partition) for partition in range(setting.partitions)]
    setting.journal.event(process, "invoke", "subscribe", keys)
    consumer.subscribe([setting.topic])
    setting.journal.event(process, "ok", "subscribe", keys)
    try:
        while not setting.done.is_set():
            if poll(setting, process, consumer):
                with suppress(KafkaException):  # another member reads it again then
                    consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def transact(setting: Setting, at: int, options: Mapping[str, Any]) -> None:
    """A producer of transactions of two or three records, some of which it aborts."""
    draw = random.Random(at)
    process = setting.processes.next()
    producer: Producer | None = None
    while not setting.done.wait(setting.pace):
        producer = producer or _begun(setting, at, options)
        if producer is None:
            continue
        places = [draw.randrange(setting.partitions) for _ in range(draw.choice((2, 3)))]
        values = [setting.values.next() for _ in places]
        asked = [["send", setting.key(p), v] for p, v in zip(places, values, strict=True)]
        setting.journal.event(process, "invoke", "txn", asked)
        kind, offsets, error = _tried(
            setting, producer, list(zip(places, values, strict=True)), draw.random()
        )
        said = {} if error is None else {"error": error.name()}
        if kind == "ok":
            told = [[f, k, [at, v]] for (f, k, v), at in zip(asked, offsets, strict=True)]
            setting.journal.event(process, "ok", "txn", told)
            continue
        setting.journal.event(process, kind, "txn", asked, **said)
        if kind == "info":  # the next one of this id ends what this one began
            process, producer = setting.processes.next(), None


def _begun(setting: Setting, at: int, options: Mapping[str, Any]) -> Producer | None:
    """A producer that may begin a transaction; None: not now."""
    producer = connected(setting, {**options, "transactional.id": f"{setting.topic}-{at}"})
    try:
        producer.init_transactions(TRANSACTION_S)
    except KafkaException:
        setting.done.wait(AGAIN_S)
        return None
    return producer


def _tried(
    setting: Setting, producer: Producer, sends: list[tuple[int, int]], drawn: float
) -> tuple[str, list[int | None], KafkaError | None]:
    """One transaction: how it ended, the offsets of its records, and what was said instead."""
    offsets: dict[int, int | None] = {}
    try:
        producer.begin_transaction()
        for place, value in sends:
            producer.produce(
                setting.topic,
                value=str(value).encode(),
                partition=place,
                on_delivery=partial(_note, offsets, value),
            )
        if drawn < setting.aborts:
            producer.flush(TRANSACTION_S)  # what was never sent is not worth aborting
            producer.abort_transaction(TRANSACTION_S)
            return "fail", [], None
        producer.commit_transaction(TRANSACTION_S)
    except KafkaException as problem:
        error = problem.args[0]
        if error.txn_requires_abort():
            with suppress(KafkaException):
                producer.abort_transaction(TRANSACTION_S)
                return "fail", [], error
        return "info", [], error
    return "ok", [offsets.get(value) for _, value in sends], None


def _note(
    offsets: dict[int, int | None], value: int, error: KafkaError | None, message: Message
) -> None:
    offsets[value] = None if error else message.offset()


WORKLOADS: Mapping[str, Workload] = {
    "log": Workload(produce, consume),
    "groups": Workload(produce, subscribe),
    "txn": Workload(transact, consume),
}
