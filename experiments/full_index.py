"""Z162 on a real cluster: after a kill a broker does not start, for an index has no room.

    .venv/bin/python -m experiments.full_index [--control] [--repeat N]

A segment is full when one of its indexes is. Entries are made every index.interval.bytes; the count
begins anew with each start of the broker. Recovery makes the index again, counts through, and may
come to more entries than there is room for.

1. A topic with segment.index.bytes=96: twelve entries in the index of offsets. A record is larger
   than index.interval.bytes, so that each has an entry but the first one after a start.
2. Seven records are written, the broker is stopped and started, and seven more are written: twelve
   entries.
3. The broker is killed (SIGKILL), and started: it recovers, and thirteen entries are needed.

The control: the broker is stopped, not killed. Nothing is recovered.

One setting is not Kafka's own, segment.index.bytes (10485760 by default), so that an index is full
after some records. With all defaults none is: a segment of 1 GB needs 2 MB. With a small
index.interval.bytes it is, by reading.

Ends with 1 if the broker does not start, with 0 if it does, with 3 if it could not be tried.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import click
from confluent_kafka import Producer

from experiments import evidence
from experiments.tools import TOPIC, Partition
from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.confluent import MUTE, SILENT

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


if __name__ == "__main__":
    main()
