"""Each client under each kind of fault: while it writes, while it reads, as a member of a group.

A fault comes with a request, so that nobody waits for it: when the leader gets the second batch, or
the first fetch. An idempotent producer writes each record once and in order, and a reader finds
them; the cluster broke no promise (`cluster`, which asks at each test's end).
"""

from __future__ import annotations

import asyncio
import os
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.kafka.serve import apis, core
from kraftcheck.kafka.serve.admin import Cluster, Process
from kraftcheck.kafka.serve.apis import BY_KEY
from kraftcheck.kafka.serve.codec import Versions
from kraftcheck.kafka.serve.tape import Entry, entries
from tests.kraftcheck.serve.test_front import kcat_of_debian
from tests.kraftcheck.serve.wire import frame, with_topic

if TYPE_CHECKING:
    from kafka import KafkaConsumer

RECORDS: Final = 6
WAITS_S: Final = 40.0
LASTS: Final = {"lasts_ms": 300}
LEADER: Final = {"broker": "leader of {0}-0"}
FAULTS: Final[dict[str, dict[str, Any]]] = {
    "kill": {"do": "kill", **LEADER, **LASTS},
    "crash": {"do": "kill", "lose": True, **LEADER, **LASTS},
    "stop": {"do": "stop", **LEADER, **LASTS},
    "pause": {"do": "pause", **LEADER, **LASTS},
    "cut": {"do": "cut", **LEADER, **LASTS},
    "stale": {"do": "stale", **LEADER, **LASTS},
    "expire": {"do": "expire", **LEADER},
    "move": {"do": "move", "topic": "{0}", "partition": 0},
    "reset-before": {"do": "reset", "cut": "before"},
    "reset-after": {"do": "reset", "cut": "after"},
    "reset-within": {"do": "reset", "cut": "within"},
    "delay": {"do": "delay", "ms": 200},
}
"""What is done; {0} is the topic. A broker that lost what it had not flushed is one of three."""
COORDINATOR: Final = {"kill": LASTS, "stop": LASTS, "pause": LASTS, "cut": LASTS}

Write: TypeAlias = Callable[[Cluster, str], None]
"""Writes the expected records to a topic, one after the other."""
Read: TypeAlias = Callable[[Cluster, str, str], list[bytes]]
"""All records of a topic, by assignment; or, where a group is named, as its member, which commits.
"""


def expected() -> list[bytes]:
    return [b"record %d" % at for at in range(RECORDS)]


def waits(cluster: Cluster, fault: str, api: str, nth: int, topic: str) -> None:
    """Tells the cluster of a fault."""
    said = {
        name: value.format(topic) if isinstance(value, str) else value
        for name, value in FAULTS[fault].items()
    }
    cluster.when(api, nth=nth, topic=topic).do(said.pop("do"), **said)


# --- The clients


def confluent_writes(cluster: Cluster, topic: str) -> None:
    from confluent_kafka import Producer

    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"enable.idempotence": True, "linger.ms": 0})
    for value in expected():
        producer.produce(topic, value)
        assert producer.flush(WAITS_S) == 0


def confluent_reads(cluster: Cluster, topic: str, group: str) -> list[bytes]:
    from confluent_kafka import Consumer, TopicPartition

    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    settings = {"group.id": group or "none", "auto.offset.reset": "earliest"}
    consumer = Consumer(servers | settings | {"enable.auto.commit": False})
    if group:
        consumer.subscribe([topic])
    else:
        consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    end = time.monotonic() + WAITS_S
    while len(found) < RECORDS and time.monotonic() < end:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    if group:
        consumer.commit(asynchronous=False)
    consumer.close()
    return found


def kafka_python_writes(cluster: Cluster, topic: str) -> None:
    from kafka import KafkaProducer

    servers = cluster.bootstrap_servers
    producer = KafkaProducer(bootstrap_servers=servers, enable_idempotence=True)
    for value in expected():
        producer.send(topic, value).get(WAITS_S)
    producer.close()


def kafka_python_reads(cluster: Cluster, topic: str, group: str) -> list[bytes]:
    from kafka import KafkaConsumer, TopicPartition

    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
    servers = {"bootstrap_servers": cluster.bootstrap_servers}
    consumer = KafkaConsumer(group_id=group or None, **servers, **settings)
    if group:
        consumer.subscribe([topic])
    else:
        consumer.assign([TopicPartition(topic, 0)])
    found: list[bytes] = []
    end = time.monotonic() + WAITS_S
    try:
        while len(found) < RECORDS and time.monotonic() < end:
            for records in consumer.poll(timeout_ms=1000).values():
                found += [each.value for each in records]
        if group:
            kafka_python_commits(consumer, end)
    finally:
        # An open consumer would send requests during the next test.
        consumer.close()
    return found


def kafka_python_commits(consumer: KafkaConsumer, end: float) -> None:
    """Commits, again where the connection broke.

    `BaseCoordinator.ensure_coordinator_ready_async` (kafka-python 3.0.12) asks for metadata when it
    finds no coordinator, and lets an error of that connection through, though there is time left.
    """
    from kafka.errors import KafkaConnectionError

    while True:
        try:
            consumer.commit()
            return
        except KafkaConnectionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def aiokafka_writes(cluster: Cluster, topic: str) -> None:
    from aiokafka import AIOKafkaProducer

    async def session() -> None:
        servers = cluster.bootstrap_servers
        producer = AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True)
        await producer.start()
        for value in expected():
            await producer.send_and_wait(topic, value)
        await producer.stop()

    asyncio.run(asyncio.wait_for(session(), WAITS_S))


def aiokafka_reads(cluster: Cluster, topic: str, group: str) -> list[bytes]:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.structs import TopicPartition

    async def session() -> list[bytes]:
        settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        servers = {"bootstrap_servers": cluster.bootstrap_servers}
        consumer = AIOKafkaConsumer(group_id=group or None, **servers, **settings)
        await consumer.start()
        if group:
            consumer.subscribe([topic])
        else:
            consumer.assign([TopicPartition(topic, 0)])
        found = [(await consumer.getone()).value for _ in range(RECORDS)]
        if group:
            await consumer.commit()
        await consumer.stop()
        return found

    return asyncio.run(asyncio.wait_for(session(), WAITS_S))


CLIENTS: Final[dict[str, tuple[Write, Read]]] = {
    "confluent-kafka": (confluent_writes, confluent_reads),
    "kafka-python": (kafka_python_writes, kafka_python_reads),
    "aiokafka": (aiokafka_writes, aiokafka_reads),
}


# --- Faults


def has_waited(cluster: Cluster) -> bool:
    """Whether every move was made."""
    return not cluster.describe()["moves"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_goes_on(cluster: Cluster, client: str, fault: str) -> None:
    write, read = CLIENTS[client]
    cluster.create_topic("t")
    waits(cluster, fault, "Produce", 2, "t")
    write(cluster, "t")
    assert has_waited(cluster)
    waits(cluster, fault, "Fetch", 1, "t")
    assert read(cluster, "t", "") == expected()
    assert has_waited(cluster)


@pytest.mark.slow
@pytest.mark.parametrize("fault", COORDINATOR)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_member_goes_on(cluster: Cluster, client: str, fault: str) -> None:
    """Its coordinator suffers when it joins, and when it commits."""
    write, read = CLIENTS[client]
    cluster.create_topic("t")
    write(cluster, "t")
    for api in ("JoinGroup", "OffsetCommit"):
        cluster.when(api).do(fault, broker="coordinator", **COORDINATOR[fault])
    assert read(cluster, "t", "g") == expected()
    assert has_waited(cluster)


def session_of_kcat(cluster: Cluster, program: Sequence[str], topic: str, fault: str) -> None:
    def kcat(*said: str, data: str = "") -> bytes:
        call = [*program, "-b", cluster.bootstrap_servers, *said]
        done = subprocess.run(call, input=data.encode(), capture_output=True, timeout=WAITS_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    one = ("-X", "enable.idempotence=true", "-X", "linger.ms=0", "-X", "batch.num.messages=1")
    waits(cluster, fault, "Produce", 2, topic)
    kcat("-P", "-t", topic, *one, data="".join(f"{each.decode()}\n" for each in expected()))
    assert has_waited(cluster)
    waits(cluster, fault, "Fetch", 1, topic)
    count = ("-c", str(RECORDS))
    found = kcat("-C", "-t", topic, "-o", "beginning", "-q", *count).splitlines()
    assert found == expected()
    assert has_waited(cluster)


@pytest.mark.slow
@pytest.mark.kafka
def test_kcat_goes_on(process: Process, tmp_path: Path) -> None:
    program = kcat_of_debian(tmp_path)
    for fault in FAULTS:
        cluster = process.cluster
        cluster.create_topic("t")
        session_of_kcat(cluster, program, "t", fault)
        assert cluster.describe()["unserved"] == []
        verdict = cluster.end()
        assert verdict.verdict == "holds", f"{fault}: {verdict}"


@pytest.mark.slow
@pytest.mark.kafka
def test_java_goes_on(cluster: Cluster) -> None:
    """One program, and a topic for each fault."""
    for fault in FAULTS:
        cluster.create_topic(fault)
        for api, nth in (("Produce", 2), ("Fetch", 1)):
            waits(cluster, fault, api, nth, fault)
    jars = os.pathsep.join(class_path().entries)
    source = Path(__file__).with_name("Faults.java")
    call = ["java", "-Xmx256m", "-cp", jars, str(source), cluster.bootstrap_servers]
    call += [str(RECORDS), *FAULTS]
    done = subprocess.run(call, capture_output=True, text=True, timeout=180)
    told = dict(line.split("=") for line in done.stdout.splitlines())
    wanted = ",".join(each.decode() for each in expected())
    assert told == dict.fromkeys(FAULTS, wanted), done.stderr
    assert has_waited(cluster)


def test_a_cluster_that_repeats_records_is_seen() -> None:
    """Planted: Z58 forgets which batches it has. To the client all is well."""
    process = Process("--judge", "0", "--bug", "Z58")
    try:
        cluster = process.cluster
        cluster.create_topic("t")
        waits(cluster, "reset-after", "Produce", 2, "t")
        confluent_writes(cluster, "t")
        assert confluent_reads(cluster, "t", "") != expected()
        assert "NoDuplicate" in str(cluster.end())
    finally:
        process.close()


# --- What they ask


ASKED: Final[dict[str, dict[str, int]]] = {
    "confluent-kafka": {
        **{"ApiVersions": 3, "Metadata": 13, "Produce": 10, "Fetch": 16, "ListOffsets": 7},
        **{"InitProducerId": 4, "FindCoordinator": 2, "JoinGroup": 5, "SyncGroup": 3},
        **{"LeaveGroup": 1, "OffsetCommit": 9, "OffsetFetch": 9},
    },
    "kafka-python": {
        **{"ApiVersions": 4, "Metadata": 13, "Produce": 9, "Fetch": 12, "ListOffsets": 11},
        **{"InitProducerId": 4, "FindCoordinator": 6, "JoinGroup": 7, "SyncGroup": 5},
        **{"LeaveGroup": 5, "OffsetCommit": 8, "OffsetFetch": 8},
    },
    "aiokafka": {
        **{"ApiVersions": 0, "Metadata": 5, "Produce": 7, "Fetch": 11, "ListOffsets": 3},
        **{"InitProducerId": 0, "FindCoordinator": 1, "JoinGroup": 5, "SyncGroup": 3},
        **{"LeaveGroup": 1, "OffsetCommit": 3, "OffsetFetch": 3},
    },
}
"""The versions that the locked clients ask an Apache Kafka 4.3.1 for, which offers everything; so
they find here what they find there.
"""


def asked(tape: Path) -> dict[str, set[int]]:
    """By API, in which versions it was asked for. Heartbeats come when they come."""
    found: dict[str, set[int]] = {}
    for entry in entries(tape):
        if isinstance(entry, Entry) and entry.kind == "frame":
            key, version = struct.unpack_from(">hh", entry.data)
            found.setdefault(BY_KEY[key], set()).add(version)
    found.pop("Heartbeat", None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_ask_for_what_they_ask_kafka(process: Process, client: str) -> None:
    cluster, (write, read) = process.cluster, CLIENTS[client]
    cluster.create_topic("t")
    write(cluster, "t")
    for group in ("", "g"):
        assert read(cluster, "t", group) == expected()
    assert cluster.describe()["unserved"] == []
    verdict = cluster.end()
    assert verdict.verdict == "holds", str(verdict)
    found = asked(Path(verdict.tape))
    assert found == {api: {version} for api, version in ASKED[client].items()}


def test_what_is_not_served_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a cluster that knows no older version of Produce than 10."""
    right = apis.versions

    def wrong(name: str) -> Versions:
        found = right(name)
        return Versions(10, found.last) if name == "Produce" else found

    monkeypatch.setattr("kraftcheck.kafka.serve.core.versions", wrong)
    core._reading.cache_clear()
    wire = with_topic()
    body = {"acks": 1, "timeout_ms": 1000, "topic_data": []}
    assert wire.send(0, frame("Produce", 9, body)) == [None]
    assert [*wire.core.unserved] == ["API 0 version 9, asked by 't'"]
    core._reading.cache_clear()
