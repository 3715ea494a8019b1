"""acks=0 on a broker that does not fail: what is lost, and when.

    .venv/bin/python -m experiments.unacknowledged [--rounds N]

One topic, one broker that leads all of its partitions, a producer for each partition that asks for
no acknowledgement; they share a connection. Nobody dies and no leader moves. What differs is the
moment at which clients stop, and what the broker does at that moment:

    calm         nothing
    held         it is stopped (SIGSTOP) for three seconds before the producers stop, and goes on
                 when their connection has been closed
    held, open   the same, but the connection is closed only five seconds later
    held, asked  as `held`, and amid the records the client asks for metadata, so that the broker
                 has something to answer when nobody listens any more

Everything is read twice, at once and five seconds later. What the second read has and the first has
not was late; what neither has was lost. Exit code 0; 3: no cluster.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from experiments.tools import click_errors
from kraftcheck.kafka.live.clients import Setting, greet, produce, read_all
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import SILENT, ConfluentSender
from kraftcheck.kafka.live.episode import GREETING, Lane, make
from kraftcheck.kafka.live.journal import Journal
from kraftcheck.traces.formats import jsonlines
from kraftcheck.traces.history import OK

PARTITIONS, PACE_S, WORK_S, HELD_S, LATER_S = 12, 0.002, 3.0, 3.0, 5.0
OPTIONS = {"acks": "0", "enable.idempotence": False, "retries": 0, "linger.ms": 0}
WAYS = ("calm", "held", "held, open", "held, asked")


class Outcome(NamedTuple):
    """Of one round: records sent; not in the first read; in neither."""

    sent: int
    missing: int
    lost: int
    tail: int
    """Of those in neither, how many are the last ones of their partition, without a later one that
    is there.
    """


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click_errors("unacknowledged")
def main(rounds: int) -> None:
    """Say of each way how many records were late and how many were lost."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        folder = Path(name)
        cluster = Cluster.up(folder / "cluster", "one-controller", patience=240)
        try:
            for turn in range(rounds):
                for way in WAYS:
                    topic = f"t{turn}-{WAYS.index(way)}"
                    found = tried(cluster, topic, way, folder / f"{topic}.jsonl")
                    late = found.missing - found.lost
                    click.echo(
                        f"{way:11} {found.sent} sent, {late} late, {found.lost} lost, "
                        f"{found.tail} of them at their partition's end"
                    )
        finally:
            cluster.down()


def tried(cluster: Cluster, topic: str, way: str, path: Path) -> Outcome:
    """One round."""
    victim = next(node.name for node in cluster.state.nodes if "broker" in node.roles)
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
    make(cluster, admin, [Lane(topic, "0", 1, False, PARTITIONS)], victim)
    with Journal(path) as journal:
        setting = Setting(journal, cluster.bootstrap, topic, PARTITIONS, PACE_S)
        greet(setting, GREETING)
        write(cluster, setting, victim, way)
        first, second = setting.processes.next(), setting.processes.next()
        read_all(setting, {}, process=first)
        time.sleep(LATER_S)
        read_all(setting, {}, process=second)
    return counted(path, first, second)


class Asking(ConfluentSender):
    """Knows one broker only, so that whatever it asks goes over the same connection."""

    def ask(self) -> None:
        """Sends a question, and does not wait long for the answer."""
        with suppress(KafkaException):
            self._producer.list_topics(timeout=0.05)


def write(cluster: Cluster, setting: Setting, victim: str, way: str) -> None:
    """Producers at work; their connection is closed when this returns."""
    shared: Asking | None = Asking(cluster.node(victim).listener, OPTIONS)
    with ThreadPoolExecutor(PARTITIONS) as pool:
        work = [
            pool.submit(partial(produce, setting, at, OPTIONS, partition=at, shared=shared))
            for at in range(PARTITIONS)
        ]
        time.sleep(WORK_S)
        if way != "calm":
            cluster.pause(victim)
            time.sleep(HELD_S / 2)
            if shared is not None and way.endswith("asked"):
                shared.ask()
            time.sleep(HELD_S / 2)
        setting.done.set()
        for each in work:
            each.result()
    kept = shared if way.endswith("open") else None
    shared = None  # nobody knows the producer any more, which closes its connection
    if way != "calm":
        cluster.resume(victim)
    if kept is not None:
        time.sleep(LATER_S)


def counted(path: Path, first: int, second: int) -> Outcome:
    """What of all that was sent, by partition and in order, each of the two processes read."""
    sent: dict[str, list[int]] = {}
    read: dict[int, set[int]] = {first: set(), second: set()}
    for each in jsonlines.read(path).operations:
        if each.f == "append" and each.outcome == OK:
            sent.setdefault(str(each.key), []).append(each.argument)
        elif each.f == "fetch" and each.process in read and each.result:
            read[each.process] |= {value for _, value in each.result}
    everything = {value for values in sent.values() for value in values}
    lost = everything - read[second]
    tail = sum(_at_the_end(values, lost) for values in sent.values())
    return Outcome(len(everything), len(everything - read[first]), len(lost), tail)


def _at_the_end(values: Iterable[int], lost: set[int]) -> int:
    count = 0
    for value in reversed(list(values)):
        if value not in lost:
            break
        count += 1
    return count


if __name__ == "__main__":
    main()
