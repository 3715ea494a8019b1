"""Z139 on a real cluster: a replica whose disk has failed is taken away, and cannot come back.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from experiments import evidence
from experiments.power import fail
from experiments.tools import HOSTS, TOPIC, Partition, until
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

B1, B2, B3 = HOSTS
SECOND = "second"
"""The folder of the disk that is b1's second directory."""
FAILED = "because the log directory has failed"
RECORDS, SECONDS = 10, 60


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether b1 does not become a replica again."""
    partition = with_second(cluster)
    with evidence.scene(
        cluster, folder, Configuration(one_client=False, min_insync_replicas=1)
    ) as scene:
        greet(scene, {}, RECORDS)
        steps: list[Callable[[], None]] = [
            lambda: broken(cluster, partition),
            lambda: moved(partition, (B2, B3)),
        ]
        with evidence.asking_brokers(cluster, folder, HOSTS, partitions=1):
            for step in reversed(steps) if control else steps:
                step()
            stuck = not back(cluster, partition)
        if stuck:
            cluster.kill(B1)
            cluster.start(B1)
            partition.await_isr((B1, B2), asking=B2)
            partition.say("b1 was started anew, and is a replica")
    return stuck


def back(cluster: Cluster, partition: Partition) -> bool:
    """Whether b1 becomes a replica again within a minute."""
    began = time.monotonic()
    partition.reassign((B1, B2), asking=B2)
    try:
        partition.await_isr((B1, B2), asking=B2, seconds=SECONDS)
    except ClusterError as error:
        click.echo(f"         {error}")
    took = time.monotonic() - began
    said = partition.describe(B2)
    partition.say(f"t-0 is to be moved back; after {took:.0f} s: {said}")
    refused = [line for line in cluster.log(B1).splitlines() if "offline log directory" in line]
    click.echo(f"         b1: {refused[-1][:300] if refused else 'nothing is refused'}")
    return took < SECONDS


def with_second(cluster: Cluster, min_insync: int = 1) -> Partition:
    """Give b1 a second directory, and put t-0 on b1, which leads, and on b2.

    The replica is in the second directory, as the first one has a log.
    """
    partition = Partition(cluster, B1, B1, (B1, B2))
    second = partition.add_directory(B1, SECOND)
    partition.create(asking=B2, min_insync=min_insync)
    if not (second / f"{TOPIC}-0").exists():
        raise ClusterError("t-0 is not in the second directory")
    partition.elect((B1, B2), asking=(B2,))
    return partition


def broken(cluster: Cluster, partition: Partition) -> None:
    """The disk fails, and b1 notices. Raises ClusterError: it does not."""
    fail(cluster.directory / SECOND)
    until(lambda: FAILED in cluster.log(B1), "b1 notices that its disk has failed")
    partition.say(f"the disk has failed: {partition.describe(B2)}")


def moved(partition: Partition, to: tuple[str, ...]) -> None:
    partition.reassign(to, asking=B2)
    partition.say(f"t-0 is moved: {partition.await_isr(to, asking=B2)}")


main = evidence.experiment(
    run,
    "Try whether a replica that was taken from a disk that failed can come back.",
    control="It is taken away before the disk fails.",
    disks=(SECOND,),
    shown="the reassignment does not end",
    otherwise="it ends",
)
