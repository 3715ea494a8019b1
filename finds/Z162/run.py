"""Z162 on a real cluster: after a kill a broker does not start, for an index has no room.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click
from confluent_kafka import Producer

from experiments import evidence
from experiments.tools import TOPIC, Partition
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT

NODE = "n1"
SIZE, EACH = 4200, 7
REASONS = ("topic segment.index.bytes=96: full after some records",)
TIME_MS = 1_700_000_000_000
"""Of every record, so that the index of times is not the first to be full."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the broker does not start."""
    partition = Partition(cluster, NODE, NODE, (NODE,))
    words = ("--create", "--if-not-exists", "--topic", TOPIC, "--replica-assignment", "1")
    settings = ("--config", "segment.index.bytes=96", "--config", "retention.ms=-1")
    partition.ask("TopicCommand", NODE, *words, *settings)
    write(cluster)
    cluster.stop(NODE)
    cluster.start(NODE)
    write(cluster)
    partition.say(f"twice {EACH} records, one segment: {segments(cluster)}")
    (cluster.stop if control else cluster.kill)(NODE)
    left = folder / NODE
    shutil.copytree(cluster.partition_file(NODE, f"{TOPIC}-0", ""), left / f"{TOPIC}-0")
    for file in cluster.partition_file(NODE, "", "").glob(".kafka_cleanshutdown"):
        shutil.copy(file, left)
    for _ in range(2):
        try:
            cluster.start(NODE)
            break
        except ClusterError as error:
            click.echo(f"         {error}")
            for line in cluster.log(NODE).splitlines():
                if "ERROR" in line:
                    click.echo(f"         {line[:200]}")
    else:
        return True
    partition.say(f"n1 has started; the segments: {segments(cluster)}")
    return False


def write(cluster: Cluster) -> None:
    """Records one by one, each a batch."""
    producer = Producer({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
    for _ in range(EACH):
        producer.produce(TOPIC, b"x" * SIZE, partition=0, timestamp=TIME_MS)
        if producer.flush(30):
            raise ClusterError("a record was not acknowledged within 30 seconds")


def segments(cluster: Cluster) -> list[int]:
    """Their first offsets."""
    folder = cluster.partition_file(NODE, f"{TOPIC}-0", "")
    return sorted(int(file.stem) for file in folder.glob("*.log"))


main = evidence.experiment(
    run,
    "Try whether a broker starts after a kill, where an index is full.",
    control="The broker is stopped, not killed.",
    layout="single",
    reasons=REASONS,
    shown="the broker does not start",
    otherwise="the broker starts",
)
