"""A served cluster against what a test waits for: its start, batches a second, one record, tests.

`kraftcheck serve` in a process of its own, confluent-kafka in this one. Batches are of one record
of 16 kB, acks=all, three replicas. Rates are the wall's, with both processes running; CPU is that
of the serving process, which says more on a machine that is busy. A test is 20 records written,
read and judged, on a fresh cluster.

Beside it, in the same run: the mock that librdkafka has, which replicates nothing, in the client's
own process; and an Apache Kafka, if its address is given (`python -m benchmarks serving`, with
KRAFTCHECK_KAFKA=HOST:PORT), with as many replicas as it has brokers, three at most.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from confluent_kafka import Consumer, Producer, TopicPartition

from kraftcheck.serve.admin import Cluster, Process

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


def beside(servers: dict[str, Any]) -> tuple[float, float]:
    """Batches a second, and the median of single records in milliseconds."""
    rate = batches(servers)
    return rate, median(single(servers))


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


def main() -> None:
    start = time.perf_counter()
    process = Process("--judge", "0")
    print(f"start                     {time.perf_counter() - start:8.2f} s")
    cluster = process.cluster
    servers = {"bootstrap.servers": cluster.bootstrap_servers}
    for topic in ("batches", "single"):
        cluster.create_topic(topic)
    before = cpu(process.pid)
    rate = batches(servers)
    each = 1e6 * (cpu(process.pid) - before) / BATCHES
    print(f"16 kB batches, acks=all   {rate:8,.0f} a second, {each:,.0f} us of CPU each")
    cuts = quantiles(single(servers), n=100)
    print(f"one record, acks=all      {cuts[49]:8.2f} ms p50, {cuts[98]:.2f} ms p99")
    others: dict[str, dict[str, Any]] = {"librdkafka's mock": MOCK}
    if kafka := os.environ.get("KRAFTCHECK_KAFKA"):
        others["Apache Kafka"] = {"bootstrap.servers": kafka}
    for name, where in others.items():
        its_rate, its_median = beside(where)
        print(
            f"{name:<25} {its_rate:8,.0f} a second, {its_median:.2f} ms p50;"
            f" here {rate / its_rate:.2f} of its rate, {cuts[49] / its_median:.1f} of its time"
        )
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
