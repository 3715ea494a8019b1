"""Z210 on a real cluster: a group is migrated while a member has yet to give a partition up.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from experiments import evidence
from experiments.copying import CONFIGURATION, COPIES, Application
from experiments.group import GROUP, tell
from experiments.tools import HOSTS, Partition
from finds.Z109.run import parts
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

PARTITIONS = 6
EACH = 2
"""Records of a partition."""
SHARE = 3
REBALANCE_S = 60.0
TAKE_S = 40.0
"""Until a member of a migrated group is given what is free: several heartbeats (5 s)."""
HEARD = "poll 6000"
"""Two heartbeats of the classic protocol (3 s): it has heard of a rebalance, and has joined."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a record was given to M and to another one."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=PARTITIONS)
    words = ("--create", "--topic", COPIES, "--replica-assignment", "1:2:3")
    partition.ask("TopicCommand", HOSTS[0], *words)
    with evidence.scene(
        cluster, folder, CONFIGURATION, partitions=PARTITIONS, also=[COPIES]
    ) as scene:
        member = partial(Application, cluster, scene, host=HOSTS[0], tells=True)
        with member("x", "cooperative") as x, member("m", "cooperative") as m:
            x.poll("poll 3000")
            until([x, m], lambda: len(x.has) == len(m.has) == SHARE, REBALANCE_S)
            partition.say(f"X has {x.has}, M has {m.has}")
            with member("l", "cooperative") as other:
                other.poll("poll 3000")
                for each in (x, m):
                    each.poll(HEARD)
                greet(scene, {}, EACH)
                m.poll(f"read {SHARE * EACH}")
                answer(partition, x)
                partition.say(f"M has {m.has}, and {parts(m)}; L has {other.has}")
                tell(partition, HOSTS[0], "--members", "--verbose")
                with member("c", "cooperative" if control else "consumer") as comes:
                    both = share(partition, m, other, comes)
                    partition.say(f"L has {other.has}, C has {comes.has}, M's records: {both}")
                    tell(partition, HOSTS[0], "--members", "--verbose")
                    for name, each in (("L", other), ("C", comes), ("M", m)):
                        if each.read:
                            partition.say(f"{name}'s copy: {each.copy() or 'done'}")
                    m.poll(HEARD)
                    partition.say(f"M polls again, and has {m.has}")
    copied = partition.read(HOSTS[0], "read_committed", COPIES)
    click.echo(f"{len(copied)} copies of {len(set(copied))} records: {' '.join(copied)}")
    return bool(both)


def until(among: Sequence[Application], true: Callable[[], bool], seconds: float) -> bool:
    """Polls them in turn. Whether it came true within that time."""
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        for each in among:
            each.poll("poll 300")
    return true()


def answer(partition: Partition, leader: Application) -> None:
    """Poll as the leader of the group until its assignment is recorded, and no longer.

    It would hear its own assignment then. Raises ClusterError: it is not recorded within
    REBALANCE_S.
    """
    words = ("--describe", "--group", GROUP, "--state")
    deadline = time.monotonic() + REBALANCE_S
    while time.monotonic() < deadline:
        leader.poll("poll 0")
        time.sleep(1)
        if "Stable" in partition.ask("consumer.group.ConsumerGroupCommand", HOSTS[0], *words):
            return
    raise ClusterError("the leader of the group did not assign anything")


def share(partition: Partition, m: Application, *others: Application) -> list[tuple[int, int]]:
    """Partition and offset of records that M was given and one of these is given as well."""
    had = {(at, offset) for at, offset, _ in m.read}

    def both() -> list[tuple[int, int]]:
        return sorted(had & {(at, offset) for each in others for at, offset, _ in each.read})

    until(others, lambda: bool(both()), TAKE_S)
    return both()


main = evidence.experiment(
    run,
    "Try whether a group is migrated while a member has yet to give a partition up.",
    control="Who comes has the classic protocol as well.",
    settings=evidence.QUICK_START,
    shown="a record was given to two members",
    otherwise="no record was given to two members",
)
