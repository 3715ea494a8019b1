"""Z161 on a real cluster: after a clean stop and a power cut, a broker deletes new records.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import click

from experiments import evidence, power
from experiments.evidence import Scene
from experiments.tools import HOSTS, TOPIC, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.reference.clients.promises import Configuration

B1, B2, B3 = HOSTS
CONFIGURATION = Configuration(one_client=False, goes_back=True)
RECORDS = 10
RETENTION_S = 45
"""Retention begins after log.initial.task.delay.ms, 30 s."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether acknowledged records are gone."""
    os.sync()
    partition = Partition(cluster, B2, B2, HOSTS)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        partition.create(asking=B2)
        greet(scene, {}, RECORDS)
        partition.say(f"{RECORDS} records acked")
        scene.journal.moment("start-power", B1)
        cluster.stop(B1)
        if control:
            os.sync()
        power.cut_power(cluster.directory / B1)
        partition.say("b1 stopped, its power was cut")
        left = folder / B1
        shutil.copytree(cluster.partition_file(B1, f"{TOPIC}-0", ""), left / f"{TOPIC}-0")
        for file in cluster.partition_file(B1, "", "").glob(".kafka_cleanshutdown"):
            shutil.copy(file, left)
        index = left / f"{TOPIC}-0" / f"{0:020}.timeindex"
        click.echo(f"         its time index: {index.read_bytes().hex(' ')}")
        lead_on(cluster, partition, scene)
    given = len(partition.read(B2))
    click.echo(f"{RECORDS} records acknowledged; Kafka's consumer is given {given}")
    return given < RECORDS


def lead_on(cluster: Cluster, partition: Partition, scene: Scene) -> None:
    """b1 has its power again, leads, and looks at retention."""
    cluster.start(B1)
    started = time.monotonic()
    partition.await_isr(HOSTS, asking=B2)
    partition.elect(HOSTS, asking=[B2])
    scene.journal.moment("stop-power", B1)
    partition.say(f"b1 started: {partition.describe(B2)}")
    time.sleep(max(0.0, started + RETENTION_S - time.monotonic()))
    for host in HOSTS:
        tell(cluster, host)


def tell(cluster: Cluster, host: str) -> None:
    """What the broker's log says of deletion."""
    for line in cluster.log(host).splitlines():
        if f"{TOPIC}-0" in line and ("Deleting segment" in line or "Incremented log start" in line):
            click.echo(f"         {host}: {line[:200]}")


main = evidence.experiment(
    run,
    "Try whether records outlive a clean stop and a power cut.",
    control="All is written to the disk before the power cut.",
    disks=(B1,),
    shown="acknowledged records are gone",
    otherwise="all are there",
)
