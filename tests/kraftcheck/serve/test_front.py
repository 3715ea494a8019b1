"""The served cluster as a process: sockets, clients, the verb, and the pytest plugin."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.kafka.serve import admin, front
from kraftcheck.kafka.serve.admin import Cluster, CommandError, Process
from kraftcheck.kafka.serve.world import Setup
from tests.kraftcheck.serve.wire import batch, frame, producing

KRAFTCHECK = (sys.executable, "-m", "kraftcheck.cli")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider")
RECORDS = 20


def run(*call: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(call, capture_output=True, text=True, **how)


def expected(prefix: str) -> list[bytes]:
    return [f"{prefix}-{at}".encode() for at in range(RECORDS)]


# --- Clients, unmodified


EARLY: Final = 1_000_000
"""A time; each record's is one millisecond later than that of the one before."""
CODECS: Final = ("gzip", "snappy", "lz4", "zstd")


@pytest.mark.parametrize("codec", ["none", *CODECS])
def test_confluent_kafka(cluster: Cluster, codec: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    servers: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    admin = AdminClient(servers)
    admin.create_topics([NewTopic("t", 1, 3)])["t"].result()
    wanted = []
    for acks in ("all", "1", "0"):
        producer = Producer(
            servers
            | {"acks": acks, "enable.idempotence": acks == "all", "compression.type": codec}
            | {"linger.ms": 1}
        )
        wanted += expected(acks)
        for value in expected(acks):
            producer.produce("t", value)
        assert producer.flush(10) == 0
    found: list[bytes | None] = []
    # The second goes on from what the first has committed when it was closed.
    for many in (len(wanted) // 2, len(wanted) - len(wanted) // 2):
        consumer = Consumer(servers | {"group.id": "g", "auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition("t", 0)])
        found += [message.value() for message in consumer.consume(many, 10)]
        consumer.close()
    assert found == wanted
    reader = Consumer(servers | {"group.id": "by time"})
    batches = Producer(servers | {"compression.type": codec, "linger.ms": 50})
    for at, value in enumerate(expected("b")):
        batches.produce("t", value, timestamp=EARLY + at)
    assert batches.flush(10) == 0
    for time_of, offset in (
        *((0, 0), (1 << 45, len(wanted) + RECORDS)),
        *((EARLY, 0), (int(time.time() * 1000) + 60_000, len(wanted) + RECORDS)),
    ):
        # Behind the last record librdkafka has -1: the end.
        (place,) = reader.offsets_for_times([TopicPartition("t", 0, time_of)], timeout=10)
        assert place.offset in (offset, -1 if time_of else offset)
    reader.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"group.protocol": "classic", "session.timeout.ms": 6000, "heartbeat.interval.ms": 100},
        {"group.protocol": "consumer"},
    ],
    ids=lambda settings: settings["group.protocol"],
)
def test_confluent_kafka_in_a_group(cluster: Cluster, settings: dict[str, Any]) -> None:
    """Two share the partitions; the coordinator is killed; each record is there, of one of them."""
    from confluent_kafka import Consumer, Producer

    cluster.create_topic("t", partitions=4)
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"linger.ms": 0})
    group = servers | {"group.id": "g", "auto.offset.reset": "earliest"} | settings
    consumers = [Consumer(group) for _ in range(2)]
    for each in consumers:
        each.subscribe(["t"])
    found: list[bytes] = []

    def consume(until: Any) -> None:
        end = time.monotonic() + 20
        while not until():
            assert time.monotonic() < end, found
            for each in consumers:
                message = each.poll(0.02)
                if message is not None:
                    assert message.error() is None
                    found.append(message.value() or b"")

    consume(lambda: all(len(each.assignment()) == 2 for each in consumers))
    for half in (range(10), range(10, RECORDS)):
        for at in half:
            producer.produce("t", expected("g")[at], partition=at % 4)
        producer.flush(10)
        consume(lambda stop=half.stop: len(found) >= stop)
        cluster.kill(cluster.coordinator())
    assert sorted(found) == sorted(expected("g"))
    for each in consumers:
        each.close()


@pytest.mark.parametrize("codec", [None, *CODECS])
def test_kafka_python(cluster: Cluster, codec: str | None) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    servers = cluster.bootstrap_servers
    cluster.create_topic("t")
    times = iter(range(EARLY, EARLY + RECORDS))
    for at, acks in enumerate(("all", 1, 0)):
        settings: dict[str, Any] = {"linger_ms": 50, "enable_idempotence": acks == "all"}
        settings |= {"acks": acks, "compression_type": codec}
        producer = KafkaProducer(bootstrap_servers=servers, **settings)
        for value in expected("k")[at::3]:
            producer.send("t", value, timestamp_ms=next(times))
        producer.flush()
        producer.close()
    wanted = [value for at in range(3) for value in expected("k")[at::3]]
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", group_id="g")
    partition = TopicPartition("t", 0)
    consumer.assign([partition])
    found = [next(consumer).value for _ in range(RECORDS)]
    consumer.commit()
    assert consumer.committed(partition) == RECORDS
    assert consumer.end_offsets([partition]) == {partition: RECORDS}
    for offset in (0, 3, 8, RECORDS - 1):
        assert consumer.offsets_for_times({partition: EARLY + offset})[partition].offset == offset
    assert consumer.offsets_for_times({partition: 1 << 45}) == {partition: None}
    consumer.close()
    assert found == wanted
    member = KafkaConsumer(
        "t", bootstrap_servers=servers, auto_offset_reset="earliest", group_id="h"
    )
    assert [next(member).value for _ in range(RECORDS)] == wanted
    member.close()


@pytest.mark.parametrize("codec", [None, *CODECS])
def test_aiokafka(cluster: Cluster, codec: str | None) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.structs import TopicPartition

    async def session() -> list[bytes]:
        servers = cluster.bootstrap_servers
        half = RECORDS // 2
        times = iter(range(EARLY, EARLY + RECORDS))
        for settings, values in (
            ({"enable_idempotence": True}, expected("a")[:half]),
            ({"acks": 1}, expected("a")[half:-1]),
            ({"acks": 0}, expected("a")[-1:]),
        ):
            more = {"compression_type": codec, "linger_ms": 50, **settings}
            producer = AIOKafkaProducer(bootstrap_servers=servers, **more)
            await producer.start()
            for sent in [await producer.send("t", v, timestamp_ms=next(times)) for v in values]:
                await sent
            await producer.stop()
        consumer = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
        await consumer.start()
        partition = TopicPartition("t", 0)
        consumer.assign([partition])
        for offset in (0, 3, half + 2, RECORDS - 1):
            place = (await consumer.offsets_for_times({partition: EARLY + offset}))[partition]
            assert place.offset == offset
        found = [(await consumer.getone()).value for _ in range(RECORDS)]
        await consumer.stop()
        options = {"group_id": "g", "auto_offset_reset": "earliest"}
        member = AIOKafkaConsumer("t", bootstrap_servers=servers, **options)
        await member.start()
        assert [(await member.getone()).value for _ in range(RECORDS)] == found
        await member.stop()
        return found

    assert asyncio.run(session()) == expected("a")


def kcat_of_debian(folder: Path) -> list[str]:
    """How kcat is called: as it is installed, or as Debian has it, unpacked in this folder."""
    if shutil.which("kcat"):
        return ["kcat"]
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        pytest.skip("kcat is not installed, and this is no Debian")
    packages = ("kcat", "librdkafka1", "libyajl2")
    got = run("apt-get", "download", *packages, cwd=folder, timeout=120)
    if got.returncode:
        pytest.skip(f"kcat is not installed, nor to be had: {got.stderr.strip()[-200:]}")
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, folder / "root"], check=True)
    libraries = {str(path.parent) for path in folder.rglob("*.so.*")}
    return ["env", f"LD_LIBRARY_PATH={':'.join(libraries)}", str(folder / "root/usr/bin/kcat")]


@pytest.mark.slow
@pytest.mark.kafka
def test_kcat(cluster: Cluster, tmp_path: Path) -> None:
    program = kcat_of_debian(tmp_path)
    cluster.create_topic("t")

    def kcat(*said: str, data: str = "") -> str:
        call = (*program, "-b", cluster.bootstrap_servers, *said)
        done = run(*call, input=data, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    wanted = ""
    for settings, codec in (
        *(("acks=all", "gzip"), ("acks=1", "snappy"), ("acks=0", "lz4")),
        *(("enable.idempotence=true", "zstd"), ("transactional.id=k", "none")),
    ):
        kcat("-P", "-t", "t", "-z", codec, "-X", settings, data=f"{settings}\n")
        wanted += f"{settings}\n"
    assert kcat("-C", "-t", "t", "-o", "beginning", "-e", "-q") == wanted
    reset = ("-X", "auto.offset.reset=earliest")
    assert kcat("-G", "g", "-q", *reset, "-c", "5", "t") == wanted
    read = ("-X", "isolation.level=read_uncommitted")
    assert kcat("-C", "-t", "t", "-o", "beginning", "-e", "-q", *read) == wanted
    assert "offset 0" in kcat("-Q", "-t", "t:0:0")
    assert kcat("-C", "-t", "t", "-o", "s@0", "-e", "-q") == wanted
    assert kcat("-C", "-t", "t", "-o", "-2", "-p", "0", "-e", "-q", "-c", "1")
    told = kcat("-L")
    assert " 3 brokers:" in told
    assert 'topic "t" with 1 partitions:' in told
    assert json.loads(kcat("-L", "-J"))["topics"][0]["topic"] == "t"


@pytest.mark.slow
@pytest.mark.kafka
def test_java(cluster: Cluster, repo_root: Path) -> None:
    """Kafka's own client, of the version whose messages are served."""
    jars = os.pathsep.join(class_path().entries)
    source = repo_root / "examples/serve/Session.java"
    call = ("java", "-Xmx256m", "-cp", jars, str(source), cluster.bootstrap_servers)
    done = run(*call, timeout=120)
    told = dict(line.split() for line in done.stdout.splitlines())
    wanted = {"brokers": "3", "records": "40", "end": "40", "first": "0", "committed": "40"}
    wanted |= {"classic": "40", "consumer": "40", "committed-transactions": "5"}
    assert told == wanted, done.stderr


# --- Administrators


def test_administrators_of_confluent_kafka(cluster: Cluster) -> None:
    """What is asked (A1): that all of it is served is seen at the end."""
    from confluent_kafka import Consumer, TopicCollection, TopicPartition

    # Its types are not whole.
    admin: Any = importlib.import_module("confluent_kafka.admin")
    servers: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    client = admin.AdminClient(servers)
    client.create_topics([admin.NewTopic("t", 2, 3)])["t"].result()
    client.create_partitions([admin.NewPartitions("t", 4)])["t"].result()
    topic = admin.ConfigResource("topic", "t")
    assert client.describe_configs([topic])[topic].result()["min.insync.replicas"].value == "2"
    entry = {"incremental_operation": admin.AlterConfigOpType.SET}
    changed = admin.ConfigEntry("retention.ms", "1000", **entry)
    resource = admin.ConfigResource("topic", "t", incremental_configs=[changed])
    client.incremental_alter_configs([resource])[resource].result()
    assert client.describe_configs([topic])[topic].result()["retention.ms"].value == "1000"
    assert len(client.describe_cluster().result().nodes) == 3
    assert len(client.describe_topics(TopicCollection(["t"]))["t"].result().partitions) == 4
    latest = client.list_offsets({TopicPartition("t", 0): admin.OffsetSpec.latest()})
    assert [each.result().offset for each in latest.values()] == [0]
    consumer = Consumer(servers | {"group.id": "g"})
    consumer.commit(offsets=[TopicPartition("t", 0, 0)], asynchronous=False)
    consumer.close()
    assert [g.group_id for g in client.list_consumer_groups().result().valid] == ["g"]
    assert client.describe_consumer_groups(["g"])["g"].result().group_id == "g"
    assert client.delete_consumer_groups(["g"])["g"].result() is None
    client.delete_topics(["t"])["t"].result()
    assert client.list_topics().topics == {}


def test_administrators_of_kafka_python_and_aiokafka(cluster: Cluster) -> None:
    from aiokafka.admin import (
        AIOKafkaAdminClient,
        NewPartitions as OtherPartitions,
        NewTopic as OtherTopic,
    )
    from kafka.admin import KafkaAdminClient, NewPartitions, NewTopic

    client = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    client.create_topics([NewTopic("t", 2, 3)])
    client.create_partitions({"t": NewPartitions(4)})
    assert client.list_topics() == ["t"]
    assert len(client.describe_topics(["t"])[0]["partitions"]) == 4
    assert len(client.describe_cluster()["brokers"]) == 3
    client.delete_topics(["t"])
    client.close()

    async def session() -> None:
        other = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        await other.start()
        await other.create_topics([OtherTopic("u", 2, 3)])
        await other.create_partitions({"u": OtherPartitions(4)})
        assert await other.list_topics() == ["u"]
        assert len((await other.describe_topics(["u"]))[0]["partitions"]) == 4
        assert len((await other.describe_cluster())["brokers"]) == 3
        await other.list_consumer_groups()
        await other.describe_consumer_groups(["g"])
        await other.delete_topics(["u"])
        await other.close()

    asyncio.run(session())


# --- Transactions


def committed_in(cluster: Cluster) -> list[bytes | None]:
    """What a consumer of what was committed finds in t-0."""
    from confluent_kafka import Consumer, TopicPartition

    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, "group.id": "g"}
    consumer = Consumer(servers | {"enable.partition.eof": True})
    consumer.assign([TopicPartition("t", 0, 0)])
    found = []
    while (message := consumer.poll(10)) is not None and message.error() is None:
        found.append(message.value())
    consumer.close()
    return found


def test_transactions_of_confluent_kafka(cluster: Cluster) -> None:
    """One is committed, one aborted while leaders die; offsets go with a third."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    cluster.create_topic("t")
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"transactional.id": "x", "linger.ms": 0})
    producer.init_transactions(10)
    consumer = Consumer(servers | {"group.id": "h", "auto.offset.reset": "earliest"})
    consumer.subscribe(["t"])
    for at, value in enumerate(expected("c")):
        producer.begin_transaction()
        producer.produce("t", value)
        producer.flush(10)
        if at == 5:
            cluster.kill(cluster.leader_of("t", 0))
        if at % 2:
            producer.abort_transaction(20)
        else:
            producer.commit_transaction(20)
    wanted = expected("c")[::2]
    assert [message.value() for message in consumer.consume(len(wanted), 10)] == wanted
    producer.begin_transaction()
    positions = consumer.position(consumer.assignment())
    producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata())
    producer.commit_transaction(20)
    (committed,) = consumer.committed(consumer.assignment(), 10)
    assert committed.offset == positions[0].offset
    consumer.close()
    assert committed_in(cluster) == wanted
    every = Consumer(servers | {"group.id": "i", "isolation.level": "read_uncommitted"})
    every.assign([TopicPartition("t", 0, 0)])
    assert [message.value() for message in every.consume(RECORDS, 10)] == expected("c")
    every.close()


def test_transactions_of_kafka_python(cluster: Cluster) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

    cluster.create_topic("t")
    options = {"bootstrap_servers": cluster.bootstrap_servers, "transactional_id": "x"}
    producer = KafkaProducer(**options)
    producer.init_transactions()
    for value in (b"yes", b"no"):
        producer.begin_transaction()
        producer.send("t", value).get(10)
        if value == b"yes":
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()
    assert committed_in(cluster) == [b"yes"]
    for level, wanted in (("read_committed", [b"yes"]), ("read_uncommitted", [b"yes", b"no"])):
        settings = {"isolation_level": level, "auto_offset_reset": "earliest"}
        consumer = KafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, **settings)
        partition = TopicPartition("t", 0)
        consumer.assign([partition])
        found = []
        # The end is behind the second marker.
        while consumer.position(partition) < 4:
            for records in consumer.poll(timeout_ms=1000).values():
                found += [each.value for each in records]
        consumer.close()
        assert found == wanted


def test_transactions_of_aiokafka(cluster: Cluster) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.structs import TopicPartition

    async def session() -> None:
        options = {"bootstrap_servers": cluster.bootstrap_servers, "transactional_id": "x"}
        producer = AIOKafkaProducer(**options)
        await producer.start()
        async with producer.transaction():
            await producer.send_and_wait("t", b"yes")
        with pytest.raises(KeyError):
            async with producer.transaction():
                await producer.send_and_wait("t", b"no")
                raise KeyError
        async with producer.transaction():
            await producer.send_and_wait("t", b"then")
        await producer.stop()

    async def read(level: str, count: int) -> list[bytes]:
        settings = {"isolation_level": level, "auto_offset_reset": "earliest"}
        consumer = AIOKafkaConsumer(bootstrap_servers=cluster.bootstrap_servers, **settings)
        await consumer.start()
        consumer.assign([TopicPartition("t", 0)])
        found = [(await consumer.getone()).value for _ in range(count)]
        await consumer.stop()
        return found

    asyncio.run(session())
    assert committed_in(cluster) == [b"yes", b"then"]
    assert asyncio.run(read("read_uncommitted", 3)) == [b"yes", b"no", b"then"]
    assert asyncio.run(read("read_committed", 2)) == [b"yes", b"then"]


# --- Faults


def test_records_survive_what_is_done_to_brokers(cluster: Cluster) -> None:
    """A leader is killed, a connection ends after its request was handled, a leader moves: an
    idempotent producer writes each record once, in order.
    """
    from confluent_kafka import Consumer, Producer, TopicPartition

    cluster.create_topic("t")
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
    producer = Producer(servers | {"enable.idempotence": True, "linger.ms": 0})
    for at, value in enumerate(expected("v")):
        producer.produce("t", value)
        producer.flush(10)
        match at:
            case 4:
                cluster.kill(cluster.leader_of("t", 0))
            case 8:
                cluster.reset_connection("after", "Produce")
            case 12:
                cluster.move_leader("t", 0)
    assert producer.flush(10) == 0
    consumer = Consumer(servers | {"group.id": "g"})
    consumer.assign([TopicPartition("t", 0, 0)])
    found = consumer.consume(RECORDS, 10)
    assert [message.error() or message.value() for message in found] == expected("v")
    assert consumer.get_watermark_offsets(TopicPartition("t", 0)) == (0, RECORDS)
    consumer.close()


def test_brokers_stop_and_start(cluster: Cluster) -> None:
    cluster.create_topic("t")
    leader = cluster.leader_of("t", 0)
    cluster.stop(leader)
    assert leader not in cluster.describe()["up"]
    cluster.restart(leader)
    cluster.wait_for_isr("t", 0, 3)
    cluster.isolate(leader)
    cluster.wait_for_isr("t", 0, 2)
    cluster.join(leader)
    cluster.wait_for_isr("t", 0, 3)
    with pytest.raises(CommandError, match="no broker 9"):
        cluster.kill(9)
    with pytest.raises(CommandError, match="no partition u-0"):
        cluster.leader_of("u", 0)


# --- Security


@contextmanager
def asking_certificates(pem: Path) -> Iterator[str]:
    """Where a server wants those of its clients as well (ssl.client.auth=required)."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.load_verify_locations(pem)
    context.verify_mode = ssl.CERT_REQUIRED

    def refuse() -> None:
        with suppress(OSError):  # ends with its socket
            while True:
                connection, _ = server.accept()
                with connection, suppress(ssl.SSLError):
                    context.wrap_socket(connection, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=refuse, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl makes a certificate")
def test_clients_that_log_in_over_tls(tmp_path: Path) -> None:
    from confluent_kafka import Producer
    from kafka import KafkaProducer

    from kraftcheck.kafka.live.topics import TopicError, find

    pem = tmp_path / "broker.pem"
    call = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    call += ["-keyout", str(pem), "-out", str(tmp_path / "own.pem"), "-subj", "/CN=localhost"]
    call += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(call, check=True, capture_output=True)
    pem.write_text(pem.read_text() + (tmp_path / "own.pem").read_text())
    process = Process("--judge", "0", "--user", "ann:secret", "--certificate", str(pem))
    address = process.cluster.bootstrap_servers
    servers: dict[str, Any] = {
        **{"bootstrap.servers": address, "log_level": 0},
        **{"security.protocol": "SASL_SSL", "ssl.ca.location": str(pem), "sasl.username": "ann"},
    }
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        login = servers | {"sasl.mechanism": mechanism}
        producer = Producer(login | {"sasl.password": "secret"})
        producer.produce("t", mechanism.encode())
        assert producer.flush(10) == 0
        # So `record` says why, and at once: the library's own answer is a broken transport.
        with pytest.raises(TopicError, match=r"SASL authentication error: .*; see --config"):
            find(address, login | {"sasl.password": "wrong"}, patience=600)
    with pytest.raises(TopicError, match=r"certificate verify failed.*; see --config"):
        find(address, {"security.protocol": "SSL"}, patience=600)
    with pytest.raises(TopicError, match=r"that wants TLS or SASL is given --config security"):
        find(address, {}, patience=1)
    with asking_certificates(pem) as strict:
        secured = {"security.protocol": "SSL", "ssl.ca.location": str(pem)}
        with pytest.raises(TopicError, match=r"alert certificate required.*; see --config"):
            find(strict, secured, patience=600)
    other = KafkaProducer(
        bootstrap_servers=address,
        security_protocol="SASL_SSL",
        ssl_cafile=str(pem),
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username="ann",
        sasl_plain_password="secret",
    )
    other.send("t", b"k").get(10)
    other.close()
    assert process.cluster.end_offset("t", 0) == 4
    process.cluster.command("deny", kind="topic", operation="Write", name="t")
    told: list[Any] = []
    producer.produce("t", b"no", on_delivery=lambda error, _: told.append(error))
    producer.flush(10)
    assert [error.name() for error in told] == ["TOPIC_AUTHORIZATION_FAILED"]
    assert process.cluster.end().verdict == "holds"
    process.close()


# --- Garbage


def connected(cluster: Cluster) -> socket.socket:
    host, _, port = cluster.bootstrap_servers.split(",")[0].rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def ended(sender: socket.socket) -> bool:
    try:
        return sender.recv(1) == b""
    except ConnectionResetError:
        return True


def test_garbage_ends_its_connection_and_no_other(cluster: Cluster) -> None:
    asked = frame("ApiVersions", 0, {})
    whole = struct.pack(">i", len(asked)) + asked
    with closing(connected(cluster)) as patient, closing(connected(cluster)) as half:
        half.sendall(whole[:-3])
        for garbage in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n"):
            with closing(connected(cluster)) as sender:
                sender.sendall(garbage)
                assert ended(sender), garbage
        with closing(connected(cluster)) as sender:
            sender.sendall(struct.pack(">i", 8) + os.urandom(8))
            assert ended(sender)
        for at in range(len(whole)):
            patient.sendall(whole[at : at + 1])
        assert len(patient.recv(4)) == 4
        half.sendall(whole[-3:] + whole)
        assert len(half.recv(4)) == 4


def test_a_thousand_connections_are_served(cluster: Cluster) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < 2000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
    asked = frame("ApiVersions", 0, {})
    senders = [connected(cluster) for _ in range(1000)]
    for sender in senders:
        sender.sendall(struct.pack(">i", len(asked)) + asked)
    assert all(len(sender.recv(4)) == 4 for sender in senders)
    for sender in senders:
        sender.close()


def test_frames_that_are_not_whole_are_bounded_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever sends most of them ends, with a line in the log; the others are served."""
    monkeypatch.setattr(front, "BUFFERED_MAX", 100_000)
    said: list[str] = []
    asked = frame("ApiVersions", 0, {})

    async def session() -> None:
        served = front.Front(Setup(seed=1, ports=(0,)), tmp_path, said.append)
        await served.start()
        port = served.setup.ports[0]
        links = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        for (_, writer), size in zip(links, (30_000, 40_000, 50_000), strict=True):
            writer.write(struct.pack(">i", 90_000) + bytes(size))
            await writer.drain()
        assert await links[2][0].read() == b""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(struct.pack(">i", len(asked)) + asked)
        assert await reader.readexactly(4)
        for _, writer in links:
            writer.close()
        served.close()

    with contextlib.suppress(ConnectionResetError):
        asyncio.run(asyncio.wait_for(session(), 20))
    assert [line for line in said if "bytes wait; closed" in line]


def handled_of_who_takes_none(tmp_path: Path) -> int:
    """How many of 100 fetches, of a client that does not take their answers; another is served."""
    fetch = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1}
    asked = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    wanted = frame("Fetch", 11, fetch | {"topics": [{"topic": "t", "partitions": [asked]}]})
    written = frame("Produce", 9, producing(batch(bytes(900_000)), 1))
    known = frame("ApiVersions", 0, {})

    def whole(data: bytes) -> bytes:
        return struct.pack(">i", len(data)) + data

    async def session() -> int:
        served = front.Front(Setup(seed=1, ports=(0,)), tmp_path, print)
        await served.start()
        served._taped.command(served._clock.now(), {"do": "create", "name": "t"})
        port = served.setup.ports[0]
        core = served._taped.core
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole(written))
        await reader.readexactly(4)
        before = core.requests
        writer.write(whole(wanted) * 100)
        other, asks = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(200):
            asks.write(whole(known))
            size = struct.unpack(">i", await other.readexactly(4))[0]
            await other.readexactly(size)
        for each in (writer, asks):
            each.close()
        served.close()
        return core.requests - before - 200

    return asyncio.run(asyncio.wait_for(session(), 30))


def test_who_takes_no_answers_is_handled_no_further(tmp_path: Path) -> None:
    """Else a client that asks and never reads would fill the memory."""
    assert 1 <= handled_of_who_takes_none(tmp_path) < 50


def test_answers_that_are_kept_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: they leave together, however large they are."""
    monkeypatch.setattr(front, "TOGETHER_MAX", 1 << 30)
    assert handled_of_who_takes_none(tmp_path) == 100


# --- The verb


def test_a_child_ends_with_whoever_started_it() -> None:
    """However that ends."""
    program = "from kraftcheck.kafka.serve.admin import Process; import os, signal\n"
    program += (
        "print(Process('--judge', '0').pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    call = [sys.executable, "-c", program]
    told = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=False)
    assert told.returncode == -signal.SIGKILL
    end = time.monotonic() + 20
    while Path(f"/proc/{int(told.stdout)}").exists():
        assert time.monotonic() < end, "it lives on"
        time.sleep(0.05)


def test_a_port_that_is_taken() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = run(*KRAFTCHECK, "serve", "--quiet", "--brokers", "1", "--port", str(port))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"kraftcheck: port {port} is taken\n"


@pytest.mark.slow
def test_the_verb_serves_until_it_is_stopped_and_its_tape_is_judged_again(tmp_path: Path) -> None:
    options = ("--json", "--judge", "0", "--out", str(tmp_path))
    serve = [*KRAFTCHECK, "serve", *options]
    child = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    said = json.loads(child.stdout.readline())
    ctl = (*KRAFTCHECK, "ctl", "--port", str(said["admin_port"]))
    told = run(*ctl, "create", "name=t")
    assert (told.returncode, told.stdout) == (0, "done: create name=t\n")
    told = run(*ctl, "end")
    assert (told.returncode, json.loads(told.stdout)["verdict"]) == (0, "holds")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert "ended: what it did, and what clients saw, is judged" in err
    found = json.loads(out)
    assert (child.returncode, found["verdict"]) == (0, "holds")
    assert found["tape"] == said["tape"].replace("tape-1", "tape-2")
    again = run(*KRAFTCHECK, "serve", "--replay", found["tape"], *options)
    assert again.returncode == 0
    assert json.loads(again.stdout)["steps"] == found["steps"]


TESTS = """
from confluent_kafka import Producer

def send(cluster, again):
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0,
                         "enable.idempotence": True})
    if again:
        cluster.reset_connection("after", "Produce")
    producer.produce("t", b"v")
    assert producer.flush(10) == 0

def test_that_passes(kafka_cluster):
    send(kafka_cluster, again=False)

def test_whose_producer_repeats_itself(kafka_cluster):
    assert kafka_cluster.describe()["topics"] == {}
    send(kafka_cluster, again=True)
"""


@pytest.mark.acceptance
def test_the_tutorial_runs(tmp_path: Path, repo_root: Path) -> None:
    pages = ("docs/reference/serve.md", "docs/serve.md")
    page = "".join((repo_root / each).read_text(encoding="utf-8") for each in pages)
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    for at, example in enumerate(examples):
        (tmp_path / f"test_tutorial_{at}.py").write_text(example)
    plan, scenario = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "plan.toml").write_text(plan)
    (tmp_path / "test_plan.py").write_text(PLANNED)
    done = run(*PYTEST, cwd=tmp_path)
    assert "8 passed" in done.stdout, done.stdout
    (tmp_path / "scenario.toml").write_text(scenario)
    own = tmp_path / "test_scenario.py"
    own.write_text(OF_SCENARIO)
    done = run(*PYTEST, "--kafka-scenario", "scenario.toml", str(own), cwd=tmp_path)
    assert "2 passed" in done.stdout, done.stdout


OF_SCENARIO = """
import pytest

@pytest.mark.parametrize("again", range(2))
def test_scenario(kafka_cluster, again):
    assert len(kafka_cluster.bootstrap_servers.split(",")) == 5
    said = kafka_cluster.describe()
    assert (len(said["topics"]["orders"]), len(said["moves"])) == (3, 1)
"""


PLANNED = """
def test_plan(kafka_cluster, kafka_plan):
    assert [move["do"] for move in kafka_plan("plan.toml")] == ["create", "kill", "join"]
    kafka_cluster.fire("go")
    assert len(kafka_cluster.describe()["moves"]) == 1
"""


def test_a_plan_that_names_what_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('[[move]]\ndo = "kill"\nbroker = 1\nwhen = { api = "Send" }\n')
    done = run(*KRAFTCHECK, "serve", "--quiet", "--plan", str(path), "--out", str(tmp_path))
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(
        "kraftcheck: the plan: no API 'Send' is served; there are .*, in {.*}\n", done.stderr
    )


@pytest.mark.slow
def test_the_plugin_fails_a_test_with_the_promise_and_the_tape(tmp_path: Path) -> None:
    """Z58 forgets which batches it has: the second test's repeated batch is there twice."""
    (tmp_path / "test_own.py").write_text(TESTS)
    done = run(*PYTEST, "--kafka-bug", "Z58", cwd=tmp_path)
    assert "2 passed, 1 error" in done.stdout, done.stdout
    assert "NoDuplicate is violated in t-0" in done.stdout
    assert "again: kraftcheck serve --replay" in done.stdout


def test_time_by_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that stands still is replaced when the test says that so much time has passed. And
    the end is waited for, however long it is judged.
    """
    process = Process("--judge", "0", "--speed", "0")
    try:
        cluster = process.cluster
        cluster.create_topic("t")
        now, old = cluster.describe()["time"], cluster.leader_of("t", 0)
        cluster.command("pause", broker=old)
        time.sleep(0.1)
        assert (cluster.describe()["time"], cluster.leader_of("t", 0)) == (now, old)
        cluster.command("step", ms=3000)
        assert cluster.describe()["time"] == now + 3_000_000
        assert cluster.leader_of("t", 0) != old
        with pytest.raises(CommandError, match="step: ms above 0"):
            cluster.command("step", ms=-1)
        with monkeypatch.context() as short:
            short.setattr(admin, "ANSWERED_S", 1e-6)
            assert cluster.end().verdict == "holds"
    finally:
        process.close()


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b"9" * 10_000, b'{"do":', b"[]"], ids=["deep", "long", "cut", "list"]
)
def test_what_is_no_command_is_told_so(line: bytes, tmp_path: Path) -> None:
    served = front.Front(Setup(seed=1, ports=(0,)), tmp_path, print)
    assert served._command(line)["error"]


def test_a_clock_that_cannot_write_its_tape_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "tape-1")

    async def served() -> front.Front:
        found = front.Front(Setup(seed=1, ports=(0,)), tmp_path, print)
        await found.start()
        monkeypatch.setattr(found, "_flush", full)
        await found.stopped.wait()
        found.close()
        return found

    assert asyncio.run(served()).failed == "tape-1: No space left on device"
