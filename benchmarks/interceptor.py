"""What the interceptor costs a producer: `python -m benchmarks.interceptor [ROUNDS]`.

Kafka's ProducerPerformance writes batches of 16 kB to one broker on this machine, in turn without
and with the interceptor. The throughput depends on what else the machine does, so the processor's
time of the producer's JVM is printed, too. The first round warms up and does not count. Before
that, a program without a broker prints the interceptor's CPU time for a record.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from kraftcheck.kafka.live import interceptor
from kraftcheck.kafka.live.artifacts import class_path, version
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.topics import admin_of, make

SIZES: Final = ((1000, 300_000), (100, 1_000_000))
"""Bytes of a record, and how many of them."""
TOPIC: Final = "t"
PROPERTIES: Final = ("acks=all", "batch.size=16384", "linger.ms=5")


class Cost(NamedTuple):
    """Of one run: records a second, and seconds of the processor."""

    rate: float
    cpu: float


def run(cluster: Cluster, jar: Path, size: int, count: int, history: Path | None) -> Cost:
    """One run of ProducerPerformance; history: the file of the interceptor."""
    properties = [f"bootstrap.servers={cluster.bootstrap}", *PROPERTIES]
    if history is not None:
        told = interceptor.settings(interceptor.PRODUCER, history)
        properties += [f"{name}={value}" for name, value in told.items()]
    call = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{jar}:{class_path()}"]
    call += ["org.apache.kafka.tools.ProducerPerformance", "--topic", TOPIC, "--throughput", "-1"]
    call += ["--num-records", str(count), "--record-size", str(size)]
    call += ["--producer-props", *properties]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status or "records/sec" not in said:
        raise SystemExit(f"ProducerPerformance failed: {said[-300:]}")
    rate = float(said.rsplit(" records/sec", 1)[0].rsplit(" ", 1)[1])
    return Cost(rate, used.ru_utime + used.ru_stime)


def cost(jar: Path, history: Path) -> None:
    """Prints the medians of what the interceptor takes for a record, after warming up."""
    call = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", f"{jar}:{class_path()}"]
    call += [str(Path(__file__).with_name("Interceptor.java")), str(history)]
    said = subprocess.run(call, capture_output=True, text=True, check=True).stdout
    rounds = [tuple(map(int, line.split())) for line in said.splitlines()][2:]
    thread, jvm = (median(column) for column in zip(*rounds, strict=True))
    print(f"the interceptor: {thread:.0f} ns of the application's thread, {jvm:.0f} ns of the JVM")
    history.unlink()


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="interceptor-") as temporary:
        folder = Path(temporary)
        jar = folder / interceptor.JAR
        interceptor.build(jar)
        cost(jar, folder / "history.jsonl")
        cluster = Cluster.up(folder / "cluster", "single")
        try:
            for size, count in SIZES:
                measure(cluster, jar, size, count, rounds, folder / "history.jsonl")
        finally:
            cluster.down()


def measure(cluster: Cluster, jar: Path, size: int, count: int, rounds: int, history: Path) -> None:
    """Prints the medians of one size of records."""
    config = {"retention.bytes": str(1 << 28), "segment.bytes": str(1 << 26)}
    without: list[Cost] = []
    recorded: list[Cost] = []
    admin = admin_of(cluster.bootstrap, {})
    for at in range(rounds + 1):
        for costs, place in ((without, None), (recorded, history)):
            if at == 0 and place is None and TOPIC not in admin.list_topics(timeout=20).topics:
                make(admin, TOPIC, 1, 1, config)
            costs.append(run(cluster, jar, size, count, place))
        bytes_a_record = history.stat().st_size / count
        history.unlink()
    print(f"Kafka {version()}, {count:,} records of {size} bytes, {rounds} rounds")
    for name, costs in (("without", without), ("recorded", recorded)):
        own = costs[1:]
        rate, cpu = median(each.rate for each in own), median(each.cpu for each in own)
        print(f"  {name:<9} {rate:>10,.0f} records/s  {cpu:6.2f} s of the processor")
    pairs = [*zip(without[1:], recorded[1:], strict=True)]
    rate = 1 - median(with_.rate / plain.rate for plain, with_ in pairs)
    cpu = median(with_.cpu / plain.cpu for plain, with_ in pairs) - 1
    print(f"  in pairs: {rate:+.1%} fewer records a second, {cpu:+.1%} of the processor's time")
    print(f"  {bytes_a_record:.0f} bytes of history for a record", flush=True)


if __name__ == "__main__":
    main()
