"""Z133 on a real cluster: a broker that is no replica any more stays eligible to lead.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.tools import Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

B1, B2, B3, B4 = HOSTS = ("b1", "b2", "b3", "b4")
CONFIGURATION = Configuration(one_client=False, goes_back=True, isolation="read_committed")
RECORDS = 10
GIVEN_UP = "given-up"
ELECTION_S = 20
"""A leaderless partition whose eligible replica is back has a leader within a second or so."""


def run(cluster: Cluster, folder: Path, control: bool, how: str) -> bool:
    """Whether acknowledged records are gone."""
    partition = Partition(cluster, B1, B1, HOSTS)
    given_up = how == GIVEN_UP
    back, last = (B4, B1) if given_up else (B1, B4)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:

        def say(what: str, described: str) -> None:
            partition.say(what)
            click.echo(f"         {described}")

        Partition(cluster, B1, B1, (B1, B2, B3)).create()
        greet(scene, {}, RECORDS)
        for host in (B2,) if control else (B2, B3):
            scene.stop(host)
        others = {B3} if control else set()
        described = partition.await_isr({B1, *others}, asking=B1)
        say(f"{RECORDS} records acked; {'b2' if control else 'b2, b3'} stopped", described)
        if given_up:
            partition.reassign((B2, B4), asking=B1)
            say("b4 is added", partition.await_isr({B1, B4, *others}, asking=B1))
            partition.reassign(None, asking=B1)
        else:
            partition.reassign((B2, B3, B4), asking=B1)
        say(f"{back} is removed", partition.await_isr({last, *others}, asking=last))
        if control:
            scene.stop(B3)
            partition.await_isr({last}, asking=last)
        scene.stop(back)
        partition.reassign((B4, B1, B2, B3) if given_up else (B1, B3, B4), asking=last)
        say(f"{back} is to be a replica again", partition.describe(last))
        scene.stop(last)
        scene.start(back)
        say(f"{last} stopped, {back} started", elected(partition, back))
        for host in (last, B2):
            scene.start(host, wait=False)
        scene.start(B3)
        ends = {B1, B3, B4, B2} if given_up else {B1, B3, B4}
        say("all are started", partition.await_isr(ends, asking=B3))
    for broker in scene.replicas:
        click.echo(f"         on b{broker.broker}: {len(broker.records)} records")
    given = len(partition.read(B3))
    click.echo(f"{RECORDS} records acknowledged; Kafka's consumer is given {given}")
    return given < RECORDS


def elected(partition: Partition, host: str) -> str:
    """Waits whether it is, though nobody is up who holds anything. Returns `describe`."""
    try:
        return partition.await_leader(host, asking=host, seconds=ELECTION_S)
    except ClusterError:
        return partition.describe(host)


main = evidence.experiment(
    run,
    "Try whether a broker that is no replica any more stays eligible to lead.",
    control="Nobody is eligible while a replica is removed.",
    more=[evidence.choice("--how", ["replaced", GIVEN_UP], "How a replica is removed.")],
    layout="spare",
    shown="acknowledged records are gone",
    otherwise="all are there",
)
