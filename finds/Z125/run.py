"""Z125 on a real cluster: a broker that loads a snapshot still leads partitions that it lost.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from experiments import evidence
from experiments.evidence import Settings
from experiments.tools import ADMIN, CLIENT, METADATA, TOPIC, Partition, Program, until
from kraftcheck.kafka.live.cluster import Cluster

LEFT, LEADER, NEW, CONTROLLER = "b1", "b2", "b3", "c1"
WRITE = Path(__file__).resolve().parent / "Write.java"
SHORT: Settings = {
    "the metadata log is cut within two minutes": {
        "metadata.log.segment.ms": "5000",
        "metadata.log.max.snapshot.interval.ms": "5000",
        "metadata.max.retention.ms": "5000",
    }
}
LOADED = "handleLoadSnapshot("
LAST = range(100, 110)
"""What is written at the end."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether b1 acks records that are lost."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEFT, LEADER])
    partition.create(asking=LEADER, min_insync=1)
    replica = cluster.partition_file(LEFT, f"{TOPIC}-0", "")
    with Program(cluster.tool(CLIENT, str(WRITE), cluster.bootstrap, TOPIC)) as writer:
        writer.answer()
        writer.do("1")
        cluster.cut(LEFT, CONTROLLER)
        cluster.cut(LEFT, ADMIN)  # b1 would ask the controller for it, and get no answer
        known = segments(cluster)[-1]
        loads = cluster.log(LEFT).count(LOADED)
        partition.await_leader(LEADER, asking=LEADER)
        partition.reassign([LEADER, NEW], asking=LEADER)
        partition.say(f"b1 is cut off: {partition.await_isr([LEADER, NEW], asking=LEADER)[-60:]}")
        if control:
            time.sleep(60)
        else:
            until(lambda: segments(cluster)[0] > known, "the metadata log is cut", 180)
        with evidence.asking_brokers(cluster, folder, (LEFT, LEADER, NEW), partitions=1):
            cluster.heal()
            if control:
                until(lambda: not replica.exists(), "b1 deletes its replica", 60)
            else:
                until(lambda: cluster.log(LEFT).count(LOADED) > loads, "b1 loads a snapshot", 60)
            time.sleep(10)
            there = "has" if replica.exists() else "has not"
            partition.say(f"b1 has caught up, and {there} its replica")
            for value in LAST:
                writer.do(str(value))
    partition.say(partition.describe(LEADER))
    read = [int(value) for value in partition.read(LEADER)]
    lost = [value for value in LAST if value not in read]
    click.echo(f"acked last: {[*LAST]}; Kafka's consumer does not read {lost}")
    return bool(lost)


def segments(cluster: Cluster) -> list[int]:
    """The first offsets of the controller's metadata log."""
    folder = cluster.partition_file(CONTROLLER, METADATA, "")
    return sorted(int(file.stem) for file in folder.glob("*.log"))


main = evidence.experiment(
    run,
    "Try whether a broker that loads a snapshot still leads partitions that it lost.",
    control="The metadata log keeps its beginning.",
    settings=lambda control: {} if control else SHORT,
    guests=(CLIENT, ADMIN),
    shown="acked records are lost",
    otherwise="no acked record is lost",
)
