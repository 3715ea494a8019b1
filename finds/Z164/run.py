"""Z164 on a real cluster: of two voters the leader is removed, and nobody leads again.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection, Sequence
from concurrent.futures import TimeoutError as Late
from pathlib import Path
from typing import Final

import click
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from experiments import evidence
from experiments.controllers import SPARE, VOTERS, Quorum
from experiments.tools import METADATA
from kraftcheck.kafka.disks.files import META
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT

OWN_FILE = "quorum-state"
"""What a controller notes of elections, beside its log."""
PARKED_S, WAIT_S, ANSWER_S = 1.0, 30.0, 15.0
"""PARKED_S: a fetch that waits at the leader is answered within half a second."""
CONTROLS: Final = ("none", "read", "three")


def run(cluster: Cluster, folder: Path, control: str) -> bool:
    """Whether nobody leads in the end."""
    quorum = Quorum(cluster)
    cluster.stop(SPARE)
    first = quorum.leader(VOTERS)
    follower, third = [name for name in VOTERS if name != first]
    if control == "three":
        others: Sequence[str] = (follower, third)
    else:
        others = (follower,)
        quorum.remove(third, first)
        quorum.await_voters(follower, (first, follower))
        cluster.stop(third)
    epoch = quorum.epoch(first)
    click.echo(f"         {first} leads in epoch {epoch}; with it vote {', '.join(others)}")
    with quorum.remover(first, first) as removal:
        removal.answer()
        for name in others:
            cluster.pause(name)
        time.sleep(PARKED_S)
        removal.do("")
        at = quorum.await_voters(first, others)
        click.echo(f"         {first} has written at offset {at} that {', '.join(others)} vote")
        if control == "read":
            cluster.resume(follower)
            quorum.await_voters(follower, others)
        cluster.stop(first)
        click.echo(f"         {first} was stopped; {follower}: voters {known(quorum, follower)}")
        if control != "read":
            for name in others:
                cluster.resume(name)
        cluster.start(first, wait=False)
        stuck = not led(quorum, others, epoch)
        if stuck:
            for name in (first, follower):
                (folder / f"{name}.log").write_text(cluster.log(name), encoding="utf-8")
                cluster.kill(name)
            for name in (first, follower):
                cluster.start(name, wait=False)
            click.echo("         both are started anew")
            stuck = not led(quorum, (first, follower), epoch)
        click.echo(f"         a topic is asked for: {created(cluster, 'one')}")
        for name in (first, *others):
            click.echo(f"         {name}: voters {known(quorum, name)}")
        click.echo(f"         the removal: {removal.do('')['error'] or 'done'}")
    kept(cluster, folder, (first, *others) if control == "three" else (first, follower))
    if stuck:
        given(cluster, first, follower)
        led(quorum, (follower,), epoch)
        click.echo(f"         a topic is asked for: {created(cluster, 'two')}")
    return stuck


def kept(cluster: Cluster, folder: Path, names: Collection[str]) -> None:
    """Controllers are killed, and what `kraftcheck disk` judges of them is kept."""
    for name in names:
        cluster.kill(name)
        log = cluster.partition_file(name, METADATA, "")
        shutil.copytree(log, folder / name / METADATA)
        shutil.copy(log.with_name(META), folder / name)


def known(quorum: Quorum, name: str) -> str:
    """The last set of voters that it has read since it started."""
    told, at = quorum.voters(name)
    return f"{', '.join(told)}, at offset {at}" if told else "not read yet"


def led(quorum: Quorum, of: Collection[str], epoch: int) -> bool:
    """Whether any of them leads within half a minute, in a newer epoch than that."""
    try:
        name = quorum.leader(list(of), WAIT_S, above=epoch)
    except ClusterError as error:
        click.echo(f"         {error}")
        return False
    click.echo(f"         {name} leads in epoch {quorum.epoch(name)}")
    return True


def created(cluster: Cluster, topic: str) -> str:
    """What a client is told that asks for a topic."""
    client = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
    asked = client.create_topics([NewTopic(topic, 1, 1)], request_timeout=ANSWER_S)
    try:
        asked[topic].result(ANSWER_S)
    except KafkaException as error:
        return str(error.args[0].name())
    except Late:
        return f"no answer in {ANSWER_S:.0f} seconds"
    return "it is made"


def given(cluster: Cluster, giver: str, taker: str) -> None:
    """The one's metadata log takes the place of the other's, while both are down."""
    theirs, own = (cluster.partition_file(name, METADATA, "") for name in (giver, taker))
    kept = (own / OWN_FILE).read_bytes()
    shutil.rmtree(own)
    shutil.copytree(theirs, own)
    (own / OWN_FILE).write_bytes(kept)
    cluster.start(taker, wait=False)
    click.echo(f"         {taker} is given {giver}'s metadata log, and started")


main = evidence.experiment(
    run,
    "Try whether somebody leads once the leader of two voters is removed.",
    control=None,
    more=[evidence.choice("--control", CONTROLS)],
    layout="voters",
    guests=("client",),
    shown="nobody leads again",
    otherwise="somebody leads",
)
