"""Recording a real Kafka: operations a second, its cost against a plain client, time to a report.

Only where Kafka has been fetched (`make kafka`); otherwise it says so and does nothing. A cluster
of three brokers and a controller on loopback, replication factor 3, acks=all, no faults:

1. One client process with two producers, two consumers and somebody who asks for offsets, each as
   fast as it can: operations recorded a second.
2. One producer that sends a record when the last is acknowledged: with nothing of ours around the
   client library, and as it is recorded, turn by turn; medians. What the process computes for a
   record tells more than the rate, since the cluster is waited for on the same cores.
   The same while all brokers are asked what they know (`record --observe`), and what one of their
   answers costs when nothing else is done.
3. From the end of the clients' work to the recording's being complete (all is read once more,
   metadata and logs are decoded), and from there to the report (`kraftcheck check --html`).

    python -m benchmarks recording [SECONDS] [--faults]

SECONDS: of the clients' work in 1 and 3, by default 120. With --faults a leader or another broker
is killed, paused or cut off meanwhile (which needs root, for network namespaces), and 2 is left
out.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from confluent_kafka import Producer

from kraftcheck.checking.command import check
from kraftcheck.checking.options import Options
from kraftcheck.kafka.live import artifacts
from kraftcheck.kafka.live.clients import Setting, produce
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import SILENT
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.kafka.live.polling import Poller
from kraftcheck.kafka.live.recording import Plan, record
from kraftcheck.screen import Screen

SECONDS: Final = 120.0
TURN_S: Final = 10.0
TURNS: Final = 3
FAULTS: Final = ("kill", "pause", "partition")
OPTIONS: Final = {"acks": "all", "enable.idempotence": True, "linger.ms": 0}
TOPIC: Final = Plan().topic


class Turn(NamedTuple):
    """Records sent, in so many seconds, for so much CPU time of this process."""

    records: int
    seconds: float
    cpu: float


def main(arguments: Sequence[str]) -> None:
    words = [word for word in arguments if word != "--faults"]
    seconds = float(words[0]) if words else SECONDS
    faults = FAULTS if "--faults" in arguments else ()
    jars = artifacts.place()
    if not jars.is_dir():
        print(f"skipped: no Kafka in {jars}; make kafka fetches it")
        return
    load = os.getloadavg()[0]
    print(f"Apache Kafka {artifacts.version()}, {os.cpu_count()} cores, load {load:.1f} before")
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        folder = Path(name)
        cluster = Cluster.up(folder / "cluster", "one-controller", bool(faults), patience=240)
        try:
            recorded(cluster, folder / "recorded", seconds, faults)
            if not faults:
                compared(cluster, folder)
        finally:
            cluster.down()
    print(f"load {os.getloadavg()[0]:.1f} after")


def recorded(cluster: Cluster, folder: Path, seconds: float, faults: tuple[str, ...]) -> None:
    """Figures 1 and 3."""
    began = time.monotonic()
    recording = record(cluster.bootstrap, Plan(seconds=seconds, faults=faults), folder, cluster)
    complete = time.monotonic()
    if faults:
        print(f"faults: {dict(Counter(fault.kind for fault in recording.faults))}")
        print(f"complete: {recording.complete}, envelope: {recording.envelope}")
    code = check(
        [folder / HISTORY],
        options=Options(),
        html=folder / "pages",
        screen=Screen(quiet=True),
    )
    reported = time.monotonic()
    operations = recording.lines / 2
    size = (folder / HISTORY).stat().st_size / 2**20
    print(
        f"{operations:,.0f} operations in {seconds:.0f} s: {operations / seconds:,.0f} a second "
        f"from one process ({size:.1f} MB)"
    )
    print(
        f"complete {complete - began - seconds:.1f} s after the clients' work, report after "
        f"another {reported - complete:.1f} s; check ended with {code}"
    )


def compared(cluster: Cluster, folder: Path) -> None:
    """Figures 2."""
    brokers = {
        node.number: (node.address, int(node.listener.rpartition(":")[2]))
        for node in cluster.state.nodes
        if "broker" in node.roles
    }
    kinds: dict[str, Callable[[Path, threading.Event], int]] = {
        "plain": lambda path, done: send_plainly(cluster.bootstrap, done),
        "recorded": partial(send_recorded, cluster.bootstrap),
        "observed": partial(send_observed, cluster.bootstrap, brokers),
    }
    found: dict[str, list[Turn]] = {name: [] for name in kinds}
    for turn in range(TURNS):
        for name, work in kinds.items():
            path = folder / f"{turn}-{name}.jsonl"
            found[name].append(timed(partial(work, path)))
    for name, turns in found.items():
        rate = statistics.median(turn.records / turn.seconds for turn in turns)
        cost = statistics.median(1e6 * turn.cpu / turn.records for turn in turns)
        print(f"{name:<9} {rate:7,.0f} records a second, {cost:6.0f} us CPU each")
    with Journal(folder / "idle.jsonl") as journal:
        path, cpu = folder / "idle.answers.jsonl", time.process_time()
        with Poller(journal, path, brokers, TOPIC, 1):
            time.sleep(TURN_S)
        used, answers = time.process_time() - cpu, len(path.read_bytes().splitlines())
    rate, cost = answers / TURN_S, 1e6 * used / answers
    print(f"{rate:.0f} answers of brokers a second, {cost:.0f} us CPU each")


def timed(work: Callable[[threading.Event], int]) -> Turn:
    """Some seconds of work that ends when it is told to."""
    done = threading.Event()
    timer = threading.Timer(TURN_S, done.set)
    begin, cpu = time.monotonic(), time.process_time()
    timer.start()
    records = work(done)
    return Turn(records, time.monotonic() - begin, time.process_time() - cpu)


def send_plainly(bootstrap: str, done: threading.Event) -> int:
    producer = Producer({**SILENT, "bootstrap.servers": bootstrap, **OPTIONS})
    told: list[object] = []
    records = 0
    while not done.is_set():
        told.clear()
        producer.produce(
            TOPIC,
            value=str(records).encode(),
            partition=0,
            on_delivery=lambda error, message: told.append(error),
        )
        while not told:
            producer.poll(0.1)
        assert told == [None], told
        records += 1
    return records


def send_recorded(bootstrap: str, path: Path, done: threading.Event) -> int:
    with Journal(path) as journal:
        setting = Setting(journal, bootstrap, TOPIC, 1)
        setting.done = done
        produce(setting, 0, OPTIONS)
        return journal.lines // 2


def send_observed(
    bootstrap: str, brokers: Mapping[int, tuple[str, int]], path: Path, done: threading.Event
) -> int:
    with (
        Journal(path.with_suffix(".asked")) as journal,
        Poller(journal, path.with_suffix(".answers"), brokers, TOPIC, 1),
    ):
        return send_recorded(bootstrap, path, done)
