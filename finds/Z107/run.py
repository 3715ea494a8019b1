"""Z107 on a real cluster: a member leaves a group, and its partitions are nobody's.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from experiments import evidence
from experiments.evidence import Option, Settings
from experiments.group import OF_THREE, Protocol, joined, poll, tell
from experiments.tools import HOSTS, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.members import Member

UPGRADE = {"group.consumer.migration.policy": "upgrade"}
PARTITIONS = 2
WAIT_S, REBALANCE_S, STEADY_S = 20.0, 60.0, 10.0
"""After a member has left; at most until one that joined has its partition; and kept it."""
LEAVERS: tuple[Protocol, ...] = ("consumer", "classic")


def run(cluster: Cluster, folder: Path, wait: float) -> bool:
    """Whether a partition is nobody's after a member has left. wait: after the first, seconds."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=PARTITIONS)
    orphaned = False
    with evidence.scene(cluster, folder, OF_THREE, partitions=PARTITIONS) as scene:
        greet(scene, {})
        end = 1
        stays = joined(scene, "classic", "earliest", commits=False)
        await_read([stays], end)
        for protocol, seconds in zip(LEAVERS, (wait, WAIT_S), strict=True):
            leaves = joined(scene, protocol, "earliest", commits=False)
            await_read([stays, leaves], end)
            partition.say(f"a member joined ({protocol} protocol)")
            describe(partition, HOSTS[0])
            leaves.leave()
            greet(scene, {})
            end += 1
            poll(stays, seconds)
            read = at_end(stays, end)
            partition.say(f"it left {seconds:.0f} s ago; read on: {sorted(read)}")
            describe(partition, HOSTS[0])
            orphaned |= len(read) < PARTITIONS
        stays.leave()
    return orphaned


def await_read(members: list[Member], end: int) -> None:
    """Until each member has a partition of its own, all are read to their end, and it stays so.

    Raises ClusterError: that is not so within a minute.
    """
    deadline, since = time.monotonic() + REBALANCE_S, time.monotonic()
    while time.monotonic() < since + STEADY_S:
        for member in members:
            poll(member, 0)
        read = [at_end(member, end) for member in members]
        assigned = sorted(at for partitions in read for at in partitions)
        if not all(read) or assigned != list(range(PARTITIONS)):
            since = time.monotonic()
        if since > deadline:
            raise ClusterError(f"the members have read {read} after {REBALANCE_S:.0f} seconds")


def at_end(member: Member, end: int) -> set[int]:
    """Which of its partitions it has read."""
    return {at for at, position in member.reader.positions().items() if position == end}


def describe(partition: Partition, asking: str) -> None:
    tell(partition, asking)
    tell(partition, asking, "--state", "--verbose")


def waiting(least: float) -> Option:
    """The option `--wait`."""
    kind = click.FloatRange(least)
    says = "Seconds after the member of the consumer protocol has left."
    return click.option("--wait", type=kind, default=least, show_default=True, help=says)


def settings(control: bool) -> Settings:
    return evidence.QUICK_GROUPS if control else {**evidence.QUICK_GROUPS, "no way back": UPGRADE}


main = evidence.experiment(
    run,
    "Try whether those who stay in a migrated group take over what a member leaves behind.",
    control="Kafka's default policy, bidirectional.",
    more=[waiting(WAIT_S)],
    settings=settings,
    shown="a partition was nobody's",
    otherwise="all were taken over",
)
