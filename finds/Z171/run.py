"""Z171 on a real cluster: a broker deletes new records after a power cut, each of which was synced.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import click

from experiments import evidence, power
from experiments.tools import HOSTS, TOPIC, Partition, until
from finds.Z161.run import B1, B2, CONFIGURATION, RECORDS, lead_on
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import RECOVERY_POINTS, Cluster

SEGMENT_MS, CHECKPOINT_MS = 5000, 2000
CONFIG = ("flush.messages=1", f"segment.ms={SEGMENT_MS}")
SETTINGS = {
    "the recovery point is written down before the kernel has written the index (half a minute; a "
    "minute by default)": {"log.flush.offset.checkpoint.interval.ms": str(CHECKPOINT_MS)}
}
REASONS = (
    "topic flush.messages=1: each record is synced before it is acknowledged",
    f"topic segment.ms={SEGMENT_MS}: a roll in seconds (a week by default)",
)
FIRST_CHECKPOINT_S = 60
"""Above log.initial.task.delay.ms, half a minute."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether acknowledged records are gone."""
    os.sync()
    partition = Partition(cluster, B2, B2, HOSTS)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        partition.create(asking=B2, config=CONFIG)
        greet(scene, {})
        await_recovery_point(cluster, 1)
        greet(scene, {}, RECORDS - 1)
        time.sleep(SEGMENT_MS / 1000)
        greet(scene, {})
        partition.say(f"{RECORDS + 1} records acked, the last one in a new segment")
        await_recovery_point(cluster, RECORDS + 1)
        scene.journal.moment("start-power", B1)
        cluster.kill(B1)
        if control:
            os.sync()
        power.cut_power(cluster.directory / B1)
        partition.say("the power of b1 was cut")
        left = folder / B1
        shutil.copytree(cluster.partition_file(B1, f"{TOPIC}-0", ""), left / f"{TOPIC}-0")
        shutil.copy(cluster.partition_file(B1, "", RECOVERY_POINTS), left)
        for index in sorted((left / f"{TOPIC}-0").glob("*.timeindex")):
            found = index.read_bytes()
            click.echo(f"         {index.name}: {len(found)} bytes, {found[:24].hex(' ')}")
        lead_on(cluster, partition, scene)
    [kept] = [
        len(each.records) for each in scene.replicas if each.broker == cluster.node(B1).number
    ]
    given = len(partition.read(B2))
    click.echo(f"{RECORDS + 1} records acknowledged; the leader has {kept}")
    click.echo(f"Kafka's consumer is given {given}")
    return kept <= RECORDS


def await_recovery_point(cluster: Cluster, wanted: int) -> None:
    """Until b1 has written down that so much is flushed. Raises ClusterError: not in a minute."""
    file = cluster.partition_file(B1, "", RECOVERY_POINTS)

    def there() -> bool:
        return file.exists() and f"{TOPIC} 0 {wanted}\n" in file.read_text()

    until(there, f"{file.name} says {wanted}", FIRST_CHECKPOINT_S)


main = evidence.experiment(
    run,
    "Try whether records that were synced outlive a roll and a power cut.",
    control="All is written to the disk before the power cut.",
    settings=SETTINGS,
    reasons=REASONS,
    disks=(B1,),
    shown="acknowledged records are gone",
    otherwise="all are there",
)
