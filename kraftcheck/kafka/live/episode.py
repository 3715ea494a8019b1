"""Many configurations under one fault at once: a way to many trials in little time.

A *lane* is a topic with its configuration and clients; each of its partitions is a trial, with a
producer of its own. All partitions are led by one broker, the victim. An episode warms up, does one
fault to the victim and undoes it, waits until all is at rest (kraftcheck/kafka/live/rest.py), and
reads everything. One journal holds it all; keys tell partitions apart. Producers that are not
idempotent share the client library's instance, so that many of them fit on a machine; each is a
process of its own in the history. Those that are must not: what goes wrong with one partition makes
librdkafka renew its epoch for all, and write again what it had written to others
(docs/reference/decisions.md).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kraftcheck.kafka.live.clients import (
    Counter,
    Setting,
    ask_offsets,
    connected,
    consume,
    greet,
    produce,
    read_all,
)
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import SILENT
from kraftcheck.kafka.live.faults import Fault, Nemesis
from kraftcheck.kafka.live.journal import Journal
from kraftcheck.kafka.live.rest import settle

WARM_S, COOL_S = 2.0, 2.0
PACE_S = 0.1
TIMEOUT_MS = 12_000
GREETING = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": 30_000}


class Lane(msgspec.Struct, frozen=True):
    """A topic and how its producers write to it."""

    topic: str
    acks: str
    min_insync_replicas: int
    unclean_election: bool
    partitions: int

    @property
    def idempotent(self) -> bool:
        return self.acks == "all"


class Episode(msgspec.Struct, frozen=True):
    """What came of it."""

    lanes: tuple[Lane, ...]
    fault: Fault | None
    final: tuple[int | None, ...]
    """Processes that read each lane at the end, None where they did not reach it."""


def run(
    cluster: Cluster, lanes: Sequence[Lane], kind: str | None, victim: str, journal: Path
) -> Episode:
    """One episode; its topics are deleted afterwards. kind: of fault; None: nothing is done.

    Raises ClusterError: the topics cannot be made.
    """
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
    make(cluster, admin, lanes, victim)
    processes = Counter()
    with Journal(journal) as book:
        settings = [
            Setting(book, cluster.bootstrap, lane.topic, lane.partitions, PACE_S, processes)
            for lane in lanes
        ]
        for setting in settings:
            greet(setting, GREETING)
        nemesis = Nemesis(cluster, book, [lane.topic for lane in lanes])
        _work(cluster, lanes, settings, nemesis, kind, victim)
        for lane in lanes:
            settle(cluster, admin, lane.topic, lane.partitions)
        final = [setting.processes.next() for setting in settings]
        with ThreadPoolExecutor(len(lanes)) as pool:
            reached = list(pool.map(_read, settings, final))
    for future in admin.delete_topics([lane.topic for lane in lanes]).values():
        with suppress(KafkaException):
            future.result(30)
    ends = tuple(at if fine else None for at, fine in zip(final, reached, strict=True))
    return Episode(tuple(lanes), next(iter(nemesis.faults), None), ends)


def _read(setting: Setting, process: int) -> bool:
    return read_all(setting, {}, process=process)


def _work(
    cluster: Cluster,
    lanes: Sequence[Lane],
    settings: Sequence[Setting],
    nemesis: Nemesis,
    kind: str | None,
    victim: str,
) -> None:
    jobs = [job for each in zip(lanes, settings, strict=True) for job in _clients(*each)]
    with ThreadPoolExecutor(len(jobs)) as pool:
        work = [pool.submit(job) for job in jobs]
        try:
            time.sleep(WARM_S)
            if kind is not None:
                nemesis.start(kind, victim)
            time.sleep(1.25 * cluster.session_ms / 1000 + 1.0)
            nemesis.stop_all()
            time.sleep(COOL_S)
        finally:
            nemesis.stop_all()
            for setting in settings:
                setting.done.set()
        for each in work:
            each.result()


def _clients(lane: Lane, setting: Setting) -> list[Any]:
    options: Mapping[str, Any] = {
        "acks": lane.acks,
        "enable.idempotence": lane.idempotent,
        "linger.ms": 0,
        "message.timeout.ms": TIMEOUT_MS,
        "request.timeout.ms": TIMEOUT_MS // 3,
        **({} if lane.idempotent else {"retries": 0}),
    }
    shared = None if lane.idempotent else connected(setting, options)
    producers = [
        partial(produce, setting, at, options, partition=at, shared=shared)
        for at in range(lane.partitions)
    ]
    return [*producers, partial(consume, setting, 0, {}), partial(ask_offsets, setting, 0, {})]


def make(cluster: Cluster, admin: AdminClient, lanes: Sequence[Lane], victim: str) -> None:
    """The lanes' topics, every partition led by the victim. Raises ClusterError."""
    others = [n.number for n in cluster.state.nodes if "broker" in n.roles and n.name != victim]
    first = cluster.node(victim).number
    topics = [
        NewTopic(
            lane.topic,
            num_partitions=lane.partitions,
            replica_assignment=[
                [first, *(others if at % 2 else reversed(others))] for at in range(lane.partitions)
            ],
            config={
                "min.insync.replicas": str(lane.min_insync_replicas),
                "unclean.leader.election.enable": str(lane.unclean_election).lower(),
            },
        )
        for lane in lanes
    ]
    try:
        for future in admin.create_topics(topics, operation_timeout=30).values():
            future.result(60)
    except (KafkaException, TimeoutError) as error:
        raise ClusterError(f"the topics cannot be made: {' '.join(str(error).split())}") from None
    for lane in lanes:
        settle(cluster, admin, lane.topic, lane.partitions)
