"""DR on a real cluster: records that were deleted, and acknowledged as deleted, are back.

See README.md for the story, the settings and the control.

--replicas 1: a broker that is controller as well. 3: three brokers and a controller, replication
factor 3 and min.insync.replicas 2; all three are killed, as by a power cut.
"""

from __future__ import annotations

from pathlib import Path

import click
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from experiments import evidence
from experiments.tools import TOPIC, Partition
from kraftcheck.kafka.live.clients import Setting, greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.reference.clients.promises import Configuration

RECORDS, DELETED = 10, 5
LAYOUTS = {"1": "single", "3": "one-controller"}
CHECKPOINT = "log-start-offset-checkpoint"
SECONDS = 30.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records are read that were deleted."""
    hosts = [node.name for node in cluster.state.nodes if "broker" in node.roles]
    in_sync = min(2, len(hosts))
    partition = Partition(cluster, hosts[0], hosts[0], hosts).create(min_insync=in_sync)
    configuration = Configuration(
        replication_factor=len(hosts), min_insync_replicas=in_sync, one_client=False
    )
    with evidence.scene(cluster, folder, configuration) as scene:
        for _ in range(RECORDS):
            greet(scene, {})
        admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
        [deleting] = admin.delete_records([TopicPartition(TOPIC, 0, DELETED)]).values()
        partition.say(f"deleted, the log begins with {deleting.result(SECONDS).low_watermark}")
        ask_start(scene)
        for host in hosts:
            (scene.stop if control else scene.kill)(host)
        for host in hosts:
            file = cluster.partition_file(host, "", CHECKPOINT)
            click.echo(f"         {host}, {CHECKPOINT}: {file.read_text().split()[2:]}")
            scene.start(host, wait=False)
        partition.await_isr(hosts, asking=hosts[0])
        partition.say(
            f"after the {'stop' if control else 'kill'}, the log begins with {ask_start(scene)}"
        )
    given = partition.read(hosts[0])
    click.echo(f"Kafka's consumer is given {' '.join(given)}")
    return len(given) > RECORDS - DELETED


def ask_start(setting: Setting) -> int:
    """Where the log begins (ListOffsets, earliest)."""
    process, key = setting.processes.next(), setting.key(0)
    setting.journal.event(process, "invoke", "earliest", [key, None])
    settings = {**SILENT, "bootstrap.servers": setting.bootstrap, "group.id": "start"}
    consumer = Consumer(settings, logger=MUTE)
    place = TopicPartition(TOPIC, 0)
    start, _ = consumer.get_watermark_offsets(place, timeout=SECONDS, cached=False)
    consumer.close()
    setting.journal.event(process, "ok", "earliest", [key, start])
    return int(start)


main = evidence.experiment(
    run,
    "Try whether an acknowledged DeleteRecords outlives a kill.",
    control="Brokers are stopped, not killed.",
    more=[evidence.choice("--replicas", LAYOUTS)],
    layout=lambda replicas: LAYOUTS[replicas],
    shown="deleted records were read",
    otherwise="what was deleted is gone",
)
