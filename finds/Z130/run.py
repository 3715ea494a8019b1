"""Z130 on a real cluster: a reassignment that another one overtakes never ends, or is forgotten.

See README.md for the story, the settings and the control.

--how back: a reassignment is taken back by asking for what was there before, which is what
kafka-reassign-partitions prints "for rollback".

--how more: the topic has the replicas b1 and b2; b3 and b4 are to take their place, and are down.
Then all four are asked for, which is accepted. b3 and b4 are started. The topic ends up on b3 and
b4 alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.reference.clients.promises import Configuration

B1, B2, B3, B4 = HOSTS = ("b1", "b2", "b3", "b4")
RECORDS = 10
WAIT_S = 30
"""After all that was asked for is in the ISR."""
FIRST = {"back": (B1, B2, B3), "more": (B1, B2)}
OTHER = {"back": (B1, B2, B4), "more": (B3, B4)}
SECOND = {"back": (B1, B2, B3), "more": HOSTS}


def run(cluster: Cluster, folder: Path, how: str, control: bool) -> bool:
    """Whether the second reassignment does not end as it was asked to."""
    partition = Partition(cluster, B1, B1, HOSTS)
    first, other, second = FIRST[how], OTHER[how], SECOND[how]
    down = [host for host in other if host not in first]

    def say(what: str) -> str:
        """Returns what Kafka's own command says of the partition."""
        partition.say(what)
        click.echo(f"         {(described := partition.describe(B1))}")
        return described

    with evidence.scene(cluster, folder, configuration(first)) as scene:
        Partition(cluster, B1, B1, first).create(asking=B1, min_insync=len(first) - 1)
        greet(scene, {}, RECORDS)
        for host in down:
            scene.stop(host)
        partition.reassign(other, asking=B1)
        say(f"{', '.join(other)} are to be the replicas")
        if control:
            partition.reassign(None, asking=B1)
            say("that is given up")
        ask_for(cluster, partition, second, down)
        say(f"{', '.join(second)} are to be the replicas")
        for host in down:
            scene.start(host)
        time.sleep(WAIT_S)
        said = say(f"all are up for {WAIT_S} s")
    wanted = {str(cluster.node(host).number) for host in second}
    found = set(said.split("Replicas: ")[1].split()[0].split(","))
    shown = found != wanted or "Adding Replicas" in said
    if how == "back" and shown:
        ask_for(cluster, partition, second, ())
        say("it was asked for again")
        partition.reassign(None, asking=B1)
        say("what is under way is given up")
    return shown


def configuration(replicas: Sequence[str]) -> Configuration:
    return Configuration(
        replication_factor=len(replicas),
        min_insync_replicas=len(replicas) - 1,
        one_client=False,
        goes_back=True,
        isolation="read_committed",
    )


def ask_for(
    cluster: Cluster, partition: Partition, replicas: Sequence[str], down: Sequence[str]
) -> None:
    """By Kafka's own command, with its output, if all of them are up; else by the API."""
    if set(replicas) & set(down):
        partition.reassign(replicas, asking=B1)
        return
    numbers = [cluster.node(host).number for host in replicas]
    wanted = {"topic": TOPIC, "partition": 0, "replicas": numbers}
    file = cluster.directory / "reassignment.json"
    file.write_text(json.dumps({"version": 1, "partitions": [wanted]}), encoding="utf-8")
    words = ("--execute", "--additional", "--reassignment-json-file", str(file))
    for line in partition.ask("reassign.ReassignPartitionsCommand", B1, *words).splitlines():
        if line.strip():
            click.echo(f"         {line.strip()}")


main = evidence.experiment(
    run,
    "Try whether a reassignment that overtakes another one ends as it was asked to.",
    control="What is under way is given up first.",
    more=[evidence.choice("--how", FIRST)],
    layout="spare",
    shown="it did not end as asked",
    otherwise="it ended as asked",
)
