"""A removal that is tried again (9 of the groups' hunting list), on a real cluster.

    .venv/bin/python -m experiments.fenced_twice [--control] [--repeat N]

A coordinator removes a member whose session has ended; if that is not committed within five
seconds, it tries again. It does not ask then whether the member has joined anew.

1. M has a partition. Its process stands still; b1, which coordinates, hears nothing of it.
2. Before M's session (45 s) ends, the links of b1 to b2 and b3 break.
3. The session ends, and b1 writes that M is removed, which is not committed. A second and a half
   later M goes on, is told that it is no member, and joins again under its id, as it should.
4. The removal has taken five seconds: b1 tries again, and removes M, which has just joined. The
   links are whole again. M is told that it has joined, and then that it is no member.

The control: the links are whole again as soon as M has been removed once.

M is Kafka's Java client with its own settings, but for those that this takes
(group.protocol=consumer, enable.auto.commit=false, auto.offset.reset=earliest). Brokers have
Kafka's own settings, but for offsets.topic.num.partitions=1 and
transaction.state.log.num.partitions=1 (50 by default): a quick start. Needs root, for network
namespaces.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.copying import Application
from experiments.group import CONFIGURATION, tell
from experiments.tools import ADMIN, CLIENT, OFFSETS, Partition, until, within
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster

COORDINATOR, OTHERS = "b1", ("b2", "b3")
SESSION_S, BEFORE_S = 45.0, 9.0
"""The links break that long before the session could end: heartbeats are five seconds apart."""
LATER_S = 1.5
"""More than half a second: else the join has been given up before the removal is tried again, M
joins once more, and so winds the session up anew.
"""
AGAIN_S = 12.0
"""The removal is given up after five seconds, and tried again half a second later."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether M is removed twice."""
    partition = Partition(cluster, CLIENT, ADMIN, OTHERS)
    partition.create(asking=OTHERS[0], min_insync=1)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene, ThreadPoolExecutor(1) as beside:
        greet(scene, {})
        with Application(cluster, scene, "m", "consumer", CLIENT, tells=True) as m:
            m.poll("poll 5000")
            partition.elect([COORDINATOR, *OTHERS], asking=[OTHERS[0]], topic=OFFSETS)
            m.poll("poll 10000")
            partition.say(f"M has {m.has}")
            polling = beside.submit(m.poll, "poll 90000")
            time.sleep(1)
            m.pause()
            scene.journal.moment("start-pause", "M")
            time.sleep(SESSION_S - BEFORE_S)
            scene.cut_off(COORDINATOR, *OTHERS)
            until(lambda: len(removals(cluster)) == 1, "M's session ends")
            partition.say("M is removed")
            if control:
                cluster.heal()
            time.sleep(LATER_S)
            m.resume()
            scene.journal.moment("stop-pause", "M")
            twice = within(lambda: len(removals(cluster)) > 1, AGAIN_S)
            scene.heal()
            partition.say(f"M is removed {'again' if twice else 'once'}")
            polling.result()
            partition.say(f"M has {m.has}")
            tell(partition, OTHERS[0], "--members", "--verbose")
    told = [line for line in cluster.log(COORDINATOR).splitlines() if "GroupId g" in line]
    for line in told[-12:]:
        click.echo(f"         b1: {line[:200]}")
    return twice


def removals(cluster: Cluster) -> list[str]:
    lines = cluster.log(COORDINATOR).splitlines()
    return [line for line in lines if "session expired" in line]


main = evidence.experiment(
    run,
    "Try whether a member is removed a second time for one silence.",
    control="The links are whole again once M has been removed.",
    settings=evidence.QUICK_START,
    guests=(CLIENT, ADMIN),
    shown="M was removed twice",
    otherwise="M was removed once",
)


if __name__ == "__main__":
    main()
