"""A served cluster against what a test waits for: its start, batches a second, one record, tests.

`kraftcheck serve` in a process of its own, confluent-kafka in this one. Batches are of one record
of 16 kB, acks=all, three replicas; of each thing the median of some rounds, which all contestants
run in turn, so that a busy machine is busy for all. Rates are the wall's, with both processes
running; CPU is that of the serving process, which says more on a machine that is busy. A test is 20
records written, read and judged, on a fresh cluster.

Beside it, in the same rounds: itself with logs that stay (`--data`); the mock that librdkafka has,
which replicates nothing, in the client's own process; and an Apache Kafka of one JVM, as
`kraftcheck cluster up --layout single` starts it, with one replica. Where there is no Java, or no
Kafka to be had, that is said.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from kraftcheck.kafka.live.artifacts import ArtifactError
from kraftcheck.kafka.live.cluster import Cluster as KafkaCluster, ClusterError
from kraftcheck.kafka.serve.admin import Cluster, Process

ROUNDS = 3
BATCHES = 2000
SINGLE = 500
TESTS = 50
RECORDS = 20


MOCK: Final[dict[str, Any]] = {"test.mock.num.brokers": 3}


def producer(servers: dict[str, Any], **settings: Any) -> Producer:
    return Producer(servers | {"log_level": 0} | settings)


def cpu(pid: int) -> float:
    """Seconds of a process so far (proc(5), stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def batches(servers: dict[str, Any]) -> float:
    """A second."""
    sender = producer(servers, **{"acks": "all", "batch.size": 16384, "linger.ms": 0})
    sender.produce("batches", b"first")
    assert sender.flush(30) == 0
    start = time.perf_counter()
    for _ in range(BATCHES):
        sender.produce("batches", bytes(16000))
        sender.poll(0)
    assert sender.flush(120) == 0
    return BATCHES / (time.perf_counter() - start)


def single(servers: dict[str, Any]) -> list[float]:
    """Milliseconds from a record to its acknowledgement, sorted."""
    sender = producer(servers, **{"acks": "all", "linger.ms": 0})
    taken = []
    for _ in range(SINGLE):
        start = time.perf_counter()
        sender.produce("single", b"v")
        assert sender.flush(10) == 0
        taken.append(1000 * (time.perf_counter() - start))
    return sorted(taken[10:])


def small_test(cluster: Cluster) -> None:
    cluster.create_topic("t")
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    sender = producer(servers, **{"linger.ms": 0})
    for at in range(RECORDS):
        sender.produce("t", str(at).encode())
    assert sender.flush(10) == 0
    # Else it makes the topic again, in the cluster that comes next.
    del sender
    reader = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0, "group.id": "g"}
    )
    reader.assign([TopicPartition("t", 0, 0)])
    assert len(reader.consume(RECORDS, 10)) == RECORDS
    reader.close()
    assert cluster.end().verdict == "holds"


def started() -> tuple[Process, float]:
    """And the seconds that it took."""
    start = time.perf_counter()
    process = Process("--judge", "0")
    return process, time.perf_counter() - start


def kafka(folder: Path) -> tuple[KafkaCluster | None, float]:
    """And the seconds until it had started."""
    start = time.perf_counter()
    try:
        cluster = KafkaCluster.up(folder, "single")
    except (ArtifactError, ClusterError, OSError) as error:
        print(f"no Apache Kafka           {error}")
        return None, 0.0
    return cluster, time.perf_counter() - start


def measured(contestants: dict[str, dict[str, Any]]) -> None:
    """Prints the medians of all, and the first one's against them."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    ones: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, servers in contestants.items():
            rates[name].append(batches(servers))
            ones[name].append(median(single(servers)))
    rate, one = (median(next(iter(of.values()))) for of in (rates, ones))
    for name in contestants:
        its_rate, its_one = median(rates[name]), median(ones[name])
        print(
            f"{name:<25} {its_rate:8,.0f} batches a second, one record {its_one:.2f} ms;"
            f" served {rate / its_rate:.2f} of its rate, {one / its_one:.1f} of its time"
        )


def main(_arguments: Sequence[str]) -> None:
    process, seconds = started()
    print(f"start                     {seconds:8.2f} s")
    cluster = process.cluster
    with TemporaryDirectory() as folder:
        keeping = Process("--judge", "0", "--data", f"{folder}/data")
        real, seconds = kafka(Path(folder, "kafka"))
        contestants = {
            "served": {"bootstrap.servers": cluster.bootstrap_servers},
            "served, --data": {"bootstrap.servers": keeping.cluster.bootstrap_servers},
            "librdkafka's mock": MOCK,
        }
        if real is not None:
            print(f"Apache Kafka's start      {seconds:8.2f} s")
            contestants["Apache Kafka"] = {"bootstrap.servers": real.bootstrap}
        for one in (cluster, keeping.cluster):
            for topic in ("batches", "single"):
                one.create_topic(topic)
        try:
            measured(contestants)
        finally:
            if real is not None:
                real.down()
        keeping.cluster.end()
        keeping.close()
    before = cpu(process.pid)
    batches({"bootstrap.servers": cluster.bootstrap_servers})
    cost = 1e6 * (cpu(process.pid) - before) / BATCHES
    print(f"served                    {cost:8,.0f} us of CPU a batch")
    start = time.perf_counter()
    verdict = cluster.end()
    print(
        f"judged again              {time.perf_counter() - start:8.2f} s, {verdict.steps:,} steps"
    )
    start = time.perf_counter()
    for _ in range(TESTS):
        small_test(cluster)
    print(f"{TESTS} tests, fresh clusters  {time.perf_counter() - start:8.2f} s")
    process.close()
