"""Z211 on a real cluster: a group of two minds about its assignor rebalances at every heartbeat.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Final

from experiments import evidence
from experiments.group import GROUP, JOIN_S, joined, poll, tell
from experiments.tools import Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

HOST: Final = "n1"
ASSIGNOR: Final = Path(__file__).resolve().with_name("TiedAssignor.java")
SETTINGS: Final = {
    "the last one is our own, named sticky": {
        "group.consumer.assignors": "uniform,range,kraftcheck.TiedAssignor"
    },
    "a quick start": {
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
    },
}
CALM_S: Final = 30.0
"""Six heartbeats of each member (group.consumer.heartbeat.interval.ms is 5 s)."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group's epoch is bumped while nothing changes."""
    preferred = ("sticky" if control else "uniform", "sticky")
    partition = Partition(cluster, HOST, HOST, [HOST]).create(min_insync=1, partitions=2)
    with evidence.scene(
        cluster, folder, Configuration(consumers="listen", one_client=False), partitions=2
    ) as scene:
        greet(scene, {})
        members = [
            joined(scene, "consumer", "earliest", more={"group.remote.assignor": name})
            for name in preferred
        ]
        for each in (*members, *members):
            poll(each, JOIN_S)
        partition.say(f"two members; they prefer {' and '.join(preferred)}")
        before = _epoch(partition)
        for each in (*members, *members):
            poll(each, CALM_S / 4)
        bumps = _epoch(partition) - before
        partition.say(f"nothing was done since; the epoch grew by {bumps}")
        tell(partition, HOST, "--members", "--verbose")
        for each in members:
            each.leave()
    return bumps > 0


def _epoch(partition: Partition) -> int:
    """Of the group. Raises ClusterError: Kafka's command does not say."""
    words = ("--describe", "--group", GROUP, "--state", "--verbose")
    said = partition.ask("consumer.group.ConsumerGroupCommand", HOST, *words)
    lines = [line.split() for line in said.splitlines() if line.startswith(("GROUP", GROUP))]
    for heads, row in pairwise(lines):
        if "GROUP-EPOCH" in heads:
            return int(row[heads.index("GROUP-EPOCH")])
    raise ClusterError(f"no epoch of the group: {' '.join(said.split())[:200]}")


main = evidence.experiment(
    run,
    "Try whether a group is calm whose members prefer two assignors, as many each.",
    control="Both members prefer the same assignor.",
    layout="single",
    settings=SETTINGS,
    classes=[ASSIGNOR],
    shown="the group's epoch was bumped though nothing changed",
    otherwise="it was not",
)
