"""Records the disks of brokers of tests/kafka/disks again: whole, as a cluster leaves them.

    KRAFTCHECK_KAFKA=VERSION .venv/bin/python -m tests.live.disk_samples [--jars DIR]

Three brokers and a controller of that version of Kafka, or of these jars: plain, compacted and
transactional records, a group's offsets. One broker is killed and more is written, the others are
stopped, one by one; so there is one that lags, one that handed over, and one that leads to the end.
tests/kafka/disks/test_versions.py judges them without Kafka.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import TypeAlias

import click
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kraftcheck.kafka.live.artifacts import ArtifactError, version
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT

PLACE = Path(__file__).resolve().parents[1] / "kafka" / "disks"
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.index.size.max.bytes": "4096",
    "log.cleaner.backoff.ms": "500",
    "log.initial.task.delay.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}
CLEANED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.bytes": "1048576",
}
TOPICS = [
    NewTopic("keyed", 1, 3, config=CLEANED),
    *[NewTopic(name, 1, 3, config={"min.insync.replicas": "2"}) for name in ("plain", "txn")],
]
LAYOUT = "one-controller"
SECONDS = 30.0
Settings: TypeAlias = dict[str, str | int | float | bool]


def run(cluster: Cluster) -> None:
    """Writes, and stops all."""
    settings: Settings = {**SILENT, "bootstrap.servers": cluster.bootstrap}
    admin = AdminClient(settings, logger=MUTE)
    for made in admin.create_topics(TOPICS).values():
        made.result(SECONDS)
    writer = Producer({**settings, "linger.ms": 0, "enable.idempotence": True}, logger=MUTE)
    write(writer, "plain", 20)
    transact(settings)
    for _ in range(4):
        write(writer, "keyed", 10)
        time.sleep(1.2)
    read(settings)
    time.sleep(3)
    cluster.kill("b3")
    time.sleep(5)
    write(writer, "plain", 10)
    time.sleep(1)
    for name in ("b2", "b1", "c1"):
        cluster.stop(name)


def write(writer: Producer, topic: str, count: int) -> None:
    for number in range(count):
        writer.produce(topic, key=f"k{number % 4}", value=f"v{number}" * 4, partition=0)
        writer.flush(SECONDS)


def transact(settings: Settings) -> None:
    """Two that overlap, one of which is aborted, and one after it."""
    both = [Producer({**settings, "transactional.id": f"t{n}"}, logger=MUTE) for n in (1, 2)]
    for each in both:
        each.init_transactions(SECONDS)
    for turn in range(3):
        for each in both:
            each.begin_transaction()
            write(each, "txn", 2)
        both[0].abort_transaction(SECONDS) if turn < 2 else both[0].commit_transaction(SECONDS)
        both[1].commit_transaction(SECONDS)


def read(settings: Settings) -> None:
    reader = Consumer({**settings, "group.id": "g"}, logger=MUTE)
    reader.assign([TopicPartition("plain", 0, 0)])
    reader.consume(5, SECONDS)
    reader.commit(offsets=[TopicPartition("plain", 0, 5)], asynchronous=False)
    reader.close()


@click.command()
@click.option("--jars", type=click.Path(path_type=Path), help="In a folder named as the version.")
def main(jars: Path | None) -> None:
    """Records the disks of a cluster."""
    said = jars.name if jars else version()
    path = PLACE / f"brokers-{said}.tar.xz"
    try:
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
            cluster = Cluster.up(
                Path(name), "one-controller", settings=SETTINGS, patience=120, own=jars
            )
            try:
                run(cluster)
                with tarfile.open(path, "w:xz") as archive:
                    for node in cluster.state.nodes:
                        archive.add(Path(name) / node.name, node.name)
            finally:
                cluster.down()
    except (ArtifactError, ClusterError) as error:
        click.echo(f"{said}: {error}", err=True)
        sys.exit(3)
    click.echo(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
