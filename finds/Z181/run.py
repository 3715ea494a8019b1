"""Z181 on a real cluster: two members of a group have a partition, and neither was removed.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments import evidence
from experiments.group import OF_THREE, joined, poll
from experiments.tools import HOSTS, TOPIC, Partition
from finds.Z107.run import PARTITIONS, await_read, describe
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.members import Member

SLOW = {"heartbeat.interval.ms": "20000"}
STATIC = {"group.instance.id": "i"}
TAKE_S = 15.0
"""Until the one that was started again has its partition."""
GIVEN_S = 10.0
"""Until both are given a record."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether both members were given a record."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=PARTITIONS)
    with evidence.scene(cluster, folder, OF_THREE, partitions=PARTITIONS) as scene:
        greet(scene, {})
        m = joined(scene, "classic", "earliest", commits=False, more=SLOW)
        await_read([m], 1)
        goes = joined(scene, "consumer", "earliest", commits=False, more=STATIC)
        if control:
            await_read([m, goes], 1)
        else:
            poll(goes, 2)
        describe(partition, HOSTS[0])
        goes.leave()
        again = joined(scene, "classic", "earliest", commits=False, more=STATIC)
        deadline = time.monotonic() + TAKE_S
        while not again.reader.positions() and time.monotonic() < deadline:
            poll(again, 0)
        taken = sorted(again.reader.positions())
        partition.say(f"it is started again, and has {taken}")
        greet(scene, {})
        both = given_to_both(m, again)
        partition.say(f"given to both: {[f'{TOPIC}-{at}, offset {offset}' for at, offset in both]}")
        describe(partition, HOSTS[0])
        # It may have to wait until M has given its partition up.
        taken = taken or sorted(again.reader.positions())
        m.leave()
        again.leave()
    if not taken:
        raise ClusterError("the member that was started again was assigned nothing")
    return bool(both)


def given_to_both(*members: Member) -> set[tuple[int, int]]:
    """Partitions and offsets of records that both are given, if they are within GIVEN_S."""
    deadline = time.monotonic() + GIVEN_S
    given: list[set[tuple[int, int]]] = [set(), set()]
    while not given[0] & given[1] and time.monotonic() < deadline:
        for mine, member in zip(given, members, strict=True):
            mine |= {(got.partition, got.offset) for got in member.poll()}
    return given[0] & given[1]


main = evidence.experiment(
    run,
    "Try whether a static member is given what another one has yet to give up.",
    control="M has given the partition up before.",
    settings=evidence.QUICK_GROUPS,
    reasons=("consumer M heartbeat.interval.ms=20000: a wide window",),
    shown="both were given a record",
    otherwise="no record was given to both",
)
