"""Z180 on a real cluster: a group goes back to the classic protocol, and nobody is told to join.

    .venv/bin/python -m experiments.forgotten_rebalance [--control] [--wait S] [--repeat N]

When the last member of the consumer protocol leaves a group that has classic members, too, the
group is made a classic one. What is recorded of it says that it is stable, in the generation that
its members are in; that they are to join again is known in memory only. If another broker
coordinates the group before they have heard of it, nobody tells them.

1. A classic member joins, and is assigned both partitions of the topic.
2. A member of the consumer protocol joins, which migrates the group. Each has one partition.
3. It leaves (close), and the broker that coordinates the group is killed at once.
4. One record is written to each partition.
5. The member that stayed is given one of the two.

The control: no broker is killed.

The consumers are librdkafka's, with its own settings, but they commit nothing and begin at the
beginning. Brokers have Kafka's own settings, but for offsets.topic.num.partitions=1 (50 by
default): a quick start.

Ends with 1 if a partition was nobody's, with 0 if none was, with 3 if it could not be tried.
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.group import OF_THREE, joined, poll
from experiments.orphaned_partition import (
    HOSTS,
    PARTITIONS,
    QUICK,
    REASON,
    at_end,
    await_read,
    describe,
)
from experiments.released_early import coordinator, other
from experiments.tools import TOPIC, Partition
from kraftcheck.live.clients import Setting, greet, read_all
from kraftcheck.live.cluster import Cluster
from kraftcheck.live.journal import HISTORY, Journal

WAIT_S = 60.0
"""More than a session (45 s)."""


def run(cluster: Cluster, folder: Path, wait: float, control: bool) -> bool:
    """Whether a partition is nobody's after the member has left. wait: seconds."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    partition.create(asking=HOSTS[0], partitions=PARTITIONS)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, PARTITIONS)
        greet(setting, {})
        stays = joined(setting, "classic", "earliest", commits=False)
        await_read([stays], 1)
        leaves = joined(setting, "consumer", "earliest", commits=False)
        await_read([stays, leaves], 1)
        partition.say("a member joined (consumer protocol)")
        describe(partition, HOSTS[0])
        host = coordinator(partition)
        leaves.leave()
        if not control:
            journal.moment("start-kill", host)
            cluster.kill(host)
            partition.say(f"it left; {host}, which coordinated, is killed")
        greet(setting, {})
        poll(stays, wait)
        read = at_end(stays, 2)
        partition.say(f"it left {wait:.0f} s ago; read on: {sorted(read)}")
        describe(partition, other(host))
        if not control:
            cluster.start(host)
            journal.moment("stop-kill", host)
        stays.leave()
        partition.await_isr(HOSTS, asking=HOSTS[0])
        read_all(setting, {})
    evidence.write(cluster, folder, OF_THREE)
    return len(read) < PARTITIONS


main = evidence.experiment(
    run,
    "Try whether who stays in a group that was migrated back takes over what a member leaves.",
    control="No broker is killed.",
    more=[
        click.option(
            "--wait",
            type=click.FloatRange(WAIT_S),
            default=WAIT_S,
            show_default=True,
            help="Seconds after the member has left.",
        )
    ],
    settings=QUICK,
    reasons=[REASON],
    shown="a partition was nobody's",
    otherwise="all were taken over",
)


if __name__ == "__main__":
    main()
