"""Z187 on a real cluster: a broker cannot load the log of its groups while that is cleaned.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import click
from confluent_kafka import Consumer, ElectionType, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from experiments import evidence
from experiments.group import joined, poll, tell
from experiments.tools import HOSTS, OFFSETS, Partition, until, within
from finds.Z202.run import MEMBER, SHORTER
from kraftcheck.kafka.live.clients import Setting, greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.members import Member
from kraftcheck.reference.clients.promises import Configuration

FIRST, NEXT = "b1", "b2"
SETTINGS = {
    **evidence.QUICK_GROUPS,
    "a cleaning that begins when it should": {"log.cleaner.backoff.ms": "100"},
}
REASONS = (
    SHORTER,
    f"topic {OFFSETS}: segment.ms=2000, segment.bytes=1 GB, min.cleanable.dirty.ratio=1 until then",
)
CONFIGURATION = Configuration(
    consumers="listen", reset="earliest", one_client=False, goes_back=True, rebalance_s=80
)
UNCLEANED = {"min.cleanable.dirty.ratio": "1", "segment.ms": "2000", "segment.bytes": str(1 << 30)}
CLEANED = {"min.cleanable.dirty.ratio": "0.001"}
OTHER, OTHERS, COMMITS = "other", 1000, 500
"""A topic, its partitions, and how often two groups commit an offset of each."""
FAILED, LOADED = "Cannot set the epoch of", "Finished loading of metadata from"
STUCK_S = 100
"""Longer than a session (45 s), the time between two polls, and a heartbeat."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the load fails."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=2)
    words = ("--create", "--topic", OTHER, "--partitions", str(OTHERS))
    partition.ask("TopicCommand", FIRST, *words)
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
    with evidence.scene(cluster, folder, CONFIGURATION, partitions=2) as scene:
        greet(scene, {})
        failed = tried(cluster, partition, admin, scene, control)
        tell(partition, FIRST, "--members", "--verbose")
        partition.elect([FIRST, NEXT, HOSTS[2]], asking=[NEXT], topic=OFFSETS)
        partition.say("b1 leads again")
        tell(partition, FIRST, "--members", "--verbose")
    return failed


def tried(
    cluster: Cluster, partition: Partition, admin: AdminClient, setting: Setting, control: bool
) -> bool:
    """As `run`. Raises ClusterError: b2 loads before it is cleaned, or does not load."""
    m = joined(setting, "consumer", "earliest", commits=False, more=MEMBER)
    poll(m, 8)
    leads_next(cluster, partition)
    configure(admin, UNCLEANED)
    fill(cluster, COMMITS)
    partition.say(f"M has both partitions; {2 * OTHERS * COMMITS:,} offsets are committed")
    static = {**MEMBER, "group.instance.id": "i"}
    n = joined(setting, "consumer", "earliest", commits=False, more=static)
    with polled(m, n):
        time.sleep(20)
    if not control:
        n.leave()
    k = joined(setting, "consumer", "earliest", commits=False, more=MEMBER)
    with polled(m, k, *([n] if control else [])):
        time.sleep(12)
    fill(cluster, 2, pause=3)
    partition.say("N is there" if control else "N has left for a while")
    log = cluster.log(NEXT)
    configure(admin, CLEANED)
    cleaned = cluster.partition_file(NEXT, f"{OFFSETS}-0", f"{0:020}.log.cleaned")
    until(cleaned.exists, "b2 begins to clean")
    admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(OFFSETS, 0)]).result(30)

    def since() -> str:
        return cluster.log(NEXT)[len(log) :]

    if not within(lambda: FAILED in since() or LOADED in since(), 90):
        raise ClusterError("b2 did not load the groups' log")
    for line in since().splitlines():
        if any(word in line for word in (FAILED, LOADED, "Swapping", "Failed to load")):
            click.echo(f"         b2: {line[:240]}")
    partition.say(f"b2 {'failed to load' if FAILED in since() else 'has loaded'} the groups' log")
    with polled(m, k, *([n] if control else [])):
        time.sleep(STUCK_S)
    return FAILED in since()


def leads_next(cluster: Cluster, partition: Partition) -> None:
    """b2 is preferred, and b1 leads: it takes over as b2 is stopped."""
    partition.elect([NEXT, FIRST, HOSTS[2]], asking=[FIRST], topic=OFFSETS)
    cluster.stop(NEXT)
    cluster.start(NEXT)
    partition.await_isr(HOSTS, asking=FIRST)


def configure(admin: AdminClient, settings: dict[str, str]) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, OFFSETS, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(30)


def fill(cluster: Cluster, times: int, pause: float = 0.0) -> None:
    """Two other groups commit an offset of each partition so often. pause: seconds behind each."""

    def commit(group: str) -> None:
        options = {**SILENT, "bootstrap.servers": cluster.bootstrap, "group.id": group}
        consumer = Consumer(options, logger=MUTE)
        for turn in range(times):
            places = [TopicPartition(OTHER, at, turn) for at in range(OTHERS)]
            consumer.commit(offsets=places, asynchronous=False)
            time.sleep(pause)
        consumer.close()

    with ThreadPoolExecutor(2) as both:
        list(both.map(commit, ("f1", "f2")))


@contextmanager
def polled(*members: Member) -> Iterator[None]:
    """These are polled meanwhile."""
    with ThreadPoolExecutor(len(members)) as threads:
        going = [True]

        def go(member: Member) -> None:
            while going:
                member.poll()

        running = [threads.submit(go, member) for member in members]
        try:
            yield
        finally:
            going.clear()
        for each in running:
            each.result()


main = evidence.experiment(
    run,
    "Try whether a broker can load the log of its groups while that is cleaned.",
    control="The static member does not leave.",
    settings=SETTINGS,
    reasons=REASONS,
    shown="the load failed",
    otherwise="it was loaded",
)
