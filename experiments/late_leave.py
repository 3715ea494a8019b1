"""Requests of a closed connection (10 of the groups' hunting list), on a real cluster.

    .venv/bin/python -m experiments.late_leave [--control] [--repeat N]

Nothing in a heartbeat of the consumer protocol tells an old one from a new: who leaves says the
same whenever it leaves, and keeps its id when it joins again.

1. The applications M and N have a partition each.
2. The link of M and of b1, which coordinates their group, breaks. M unsubscribes and subscribes
   again: it leaves, which is lost on the way. After request.timeout.ms (30 s) it gives up the
   connection; its kernel goes on to send what was in it. The link is whole again: M connects anew,
   joins, and has its partition.
3. Its kernel sends again what was in the first connection.

The control: M does not unsubscribe; what comes late is a heartbeat.

The applications are Kafka's Java clients with their own settings, but for those that this takes
(group.protocol=consumer, enable.auto.commit=false, auto.offset.reset=earliest). Brokers have
Kafka's own settings, but for offsets.topic.num.partitions=1 and
transaction.state.log.num.partitions=1 (50 by default): a quick start. What coordinates the group
has replicas on b1 and b3, all else on b2 and b3. Needs root, for network namespaces.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

import click

from experiments import evidence
from experiments.copying import Application
from experiments.group import CONFIGURATION, tell
from experiments.tools import ADMIN, CLIENT, OFFSETS, Partition, within
from finds.Z87.run import COORDINATOR, LEADER, OTHER
from finds.Z163.run import sends_again_in
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

RECORDS = 5
JOIN_S, LATE_S = 90.0, 60.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether N is given the partition of M, which is there."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, OTHER])
    partition.create(asking=LEADER, min_insync=1, partitions=2)
    with evidence.scene(cluster, folder, CONFIGURATION, partitions=2) as scene:
        greet(scene, {}, RECORDS)
        m = Application(cluster, scene, "m", "consumer", CLIENT, tells=True)
        n = Application(cluster, scene, "n", "consumer", ADMIN, tells=True)
        with m, n:
            m.poll("poll 5000")
            partition.elect([COORDINATOR, OTHER], asking=[LEADER], topic=OFFSETS)
            shared(m, n)
            partition.say(f"M has {m.has}, N has {n.has}")
            scene.cut_off(COORDINATOR, CLIENT)
            if not control:
                m.poll("anew")
            await_that(m, n, lambda: again_in(cluster) < math.inf, "M gives up the connection")
            scene.heal()
            shared(m, n)
            partition.say(f"M has joined again, and has {m.has}; N has {n.has}")
            tell(partition, LEADER, "--members", "--verbose")
            await_that(m, n, lambda: again_in(cluster) == math.inf, "M's kernel sends again")
            taken = within(lambda: both(n), 15)
            partition.say(f"what was late has come; N has {n.has}, and M {m.has} by its last poll")
            tell(partition, LEADER, "--members", "--verbose")
            m.poll("poll 500")
            partition.say(f"M polls, and has {m.has}")
    left = [line for line in cluster.log(COORDINATOR).splitlines() if "Member" in line]
    for line in left[-6:]:
        click.echo(f"         b1: {line[:12]} {line[line.find('Member') :][:150]}")
    return taken


def again_in(cluster: Cluster) -> float:
    return sends_again_in(cluster, CLIENT, COORDINATOR)


def shared(m: Application, n: Application) -> None:
    """Polls until each has one partition. Raises ClusterError: not in a minute and a half."""
    await_that(m, n, lambda: len(m.has) == len(n.has) == 1, "each has a partition", JOIN_S)


def await_that(
    m: Application, n: Application, there: Callable[[], bool], what: str, seconds: float = LATE_S
) -> None:
    """Polls both meanwhile. Raises ClusterError: it does not happen."""
    deadline = time.monotonic() + seconds
    while not there():
        if time.monotonic() > deadline:
            raise ClusterError(f"not within {seconds:.0f} seconds: {what}; {m.has}, {n.has}")
        for each in (m, n):
            each.poll("poll 200")


def both(n: Application) -> bool:
    n.poll("poll 200")
    return len(n.has) == 2


main = evidence.experiment(
    run,
    "Try whether a member is removed by what it sent in a connection that is closed.",
    control="It was a heartbeat.",
    settings=evidence.QUICK_START,
    guests=(CLIENT, ADMIN),
    shown="N is given the partition of M, which is there",
    otherwise="M has its partition",
)
