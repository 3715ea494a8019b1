"""Z110 on a real cluster: a controller goes on with voters that were replaced.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import click
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from experiments import evidence
from experiments.controllers import BROKER, SPARE, VOTERS, Quorum
from experiments.tools import METADATA, TOPIC, Partition, within
from kraftcheck.kafka.live.clients import Setting, greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.journal import HISTORY, Journal

PARTITIONS, RECORDS = 500, 10
TRUNCATED = re.compile(r"Truncated to offset (\d+)")
READ_S = 5


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a topic is gone that was made, with its records."""
    quorum = Quorum(cluster)
    first = quorum.leader(VOTERS)
    partition = Partition(cluster, BROKER, BROKER, (BROKER,))
    with Journal(folder / HISTORY) as journal:
        for other in (*VOTERS, SPARE):
            if other != first:
                cluster.cut(first, other)
        asked = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
        asked.create_topics([NewTopic("tail", PARTITIONS, 1)])
        time.sleep(1)
        cluster.kill(BROKER)  # else it would ask the next leader as well
        others = [other for other in VOTERS if other != first]
        second = quorum.leader(others, above=quorum.epoch(first))  # one of them may have led before
        [gone] = {*VOTERS} - {first, second}
        cluster.heal()
        at = quorum.awaited(first, TRUNCATED, "its tail is not cut")[1]
        click.echo(f"         {first} led, {second} leads, {first} cut its tail at offset {at}")
        if control:
            cluster.stop(first)
            cluster.start(first)
        cluster.kill(gone)
        quorum.add(SPARE, second)
        quorum.remove(gone, second)
        click.echo(f"         {gone} was replaced by {SPARE}")
        cluster.start(BROKER)
        for name in (first, second, SPARE):
            tell(quorum, name)
        for one in (first, gone):
            for other in (second, SPARE, BROKER):
                cluster.cut(one, other)
        cluster.start(gone)
        try:
            quorum.leader([first], above=quorum.epoch(second))
        except ClusterError as error:
            click.echo(f"         {error}")
        journal.event(0, "invoke", "add", TOPIC)
        partition.create(asking=BROKER, min_insync=1)
        journal.event(0, "ok", "add", TOPIC)
        with Journal(folder / "records.jsonl") as records:
            greet(Setting(records, cluster.bootstrap, TOPIC, 1), {}, RECORDS)
        for name in (first, second):
            quorum.status(name)
            log = cluster.partition_file(name, METADATA, f"{0:020}.log")
            (folder / name / METADATA).mkdir(parents=True)
            shutil.copy(log, folder / name / METADATA)
        partition.say(f"{TOPIC} was made, {RECORDS} records acked")
        cluster.heal()
        quorum.restart((second, SPARE, BROKER))
        journal.event(1, "invoke", "read", None)
        topics = partition.ask("TopicCommand", BROKER, "--list").split()
        journal.event(1, "ok", "read", topics)
        for name in (first, second):
            quorum.status(name)
        partition.say(f"the network is whole; topics: {' '.join(topics) or 'none'}")
    return TOPIC not in topics


def tell(quorum: Quorum, name: str) -> None:
    """Prints the last set that it has read, some seconds later."""
    within(lambda: SPARE in quorum.voters(name)[0], READ_S)
    voters, at = quorum.voters(name)
    click.echo(f"         {name}: voters {', '.join(voters)}, at offset {at}")


main = evidence.experiment(
    run,
    "Try whether a controller goes on with voters that were replaced.",
    control="Who cut its tail is started anew.",
    layout="voters",
    guests=("client",),
    shown="what was committed is gone",
    otherwise="all is there",
)
