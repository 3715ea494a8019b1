"""Z160 on a real cluster: a broker leads what is on a disk that it has reported as failed.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import click

from experiments import evidence
from experiments.power import fail
from experiments.tools import Partition, until
from finds.Z139.run import B1, B2, B3, FAILED, RECORDS, SECOND, with_second
from kraftcheck.kafka.live import metadata
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

CONTROLLER, ADMIN = "c1", "admin"
CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"
SERVED_S, NOTED_S, HEARD_S = 30, 6.0, 15.0
"""For how long b2 is waited for; from the line in b1's log on until no heartbeat of before waits to
be sent (half of broker.session.timeout.ms); from the link on until the controller has heard it."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether b1 leads, and nobody is served, though b2 is there."""
    with_second(cluster, min_insync=2)
    partition = Partition(cluster, ADMIN, ADMIN, (B1, B2))
    with evidence.scene(
        cluster, folder, Configuration(one_client=False, min_insync_replicas=2)
    ) as scene:
        greet(scene, {}, RECORDS)
        scene.stop(B2)
        # b1 would ask the controller for what ADMIN asks, and get no answer
        scene.cut_off(B1, CONTROLLER, ADMIN)
        said = partition.await_leader(None, asking=B3)
        partition.say(f"b2 is stopped, b1 is fenced: {said}")
        if control:
            cluster.heal()
            partition.await_leader(B1, asking=B3)
        broken(cluster)
        scene.heal()
        time.sleep(HEARD_S)
        partition.say(f"b1 is back, its disk has failed: {partition.describe(B3)}")
        scene.start(B2)
        stuck = not served(partition)
        scene.kill(B1)
        partition.await_leader(B2, asking=B3)
        partition.reassign((B2, B3), asking=B3)
        partition.await_isr((B2, B3), asking=B3)
        partition.say(f"b1 is killed, b3 is added; read: {len(partition.read(B3))} of {RECORDS}")
    told = at_once(metadata.read(folder / metadata.METADATA))
    click.echo(f"         b1 told of its disk in the heartbeat that unfenced it: {told}")
    if told == control:
        raise ClusterError("b1 did not tell of its disk when it should have")
    return stuck


def broken(cluster: Cluster) -> None:
    fail(cluster.directory / SECOND)
    until(lambda: FAILED in cluster.log(B1), "b1 notices that its disk has failed")
    time.sleep(NOTED_S)


def at_once(records: Sequence[metadata.Record]) -> bool:
    """Whether what unfences a broker, and what takes a directory from it, came in one batch."""
    ends: dict[int, set[str]] = {}
    for record in records:
        if record.kind == CHANGE:
            ends.setdefault(record.end, set()).update(record.data)
    return any({"fenced", "logDirs"} <= said for said in ends.values())


def served(partition: Partition) -> bool:
    """Whether b2 leads within half a minute."""
    try:
        said = partition.await_leader(B2, asking=B3, seconds=SERVED_S)
    except ClusterError as error:
        partition.say(f"b2 is started: {error}; {partition.describe(B3)}")
        producer = partition.produce(B3, acks=1)
        acked = partition.await_acked(producer, 20)
        click.echo(f"         a producer writes for 20 s: {acked or 'nothing is taken'}")
        return bool(acked)
    partition.say(f"b2 is started: {said}")
    return True


main = evidence.experiment(
    run,
    "Try whether a broker leads what is on a disk that it has reported as failed.",
    control="The disk fails when the link is whole again.",
    guests=(ADMIN,),
    disks=(SECOND,),
    shown="b1 leads, and nobody is served",
    otherwise="b2 leads",
)
