"""Z113 on a real cluster: a controller that was removed goes on leading.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Final

import click

from experiments import evidence
from experiments.controllers import BROKER, SPARE, VOTERS, Quorum
from kraftcheck.kafka.live import metadata
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

RESIGNED: Final = re.compile(r"Completed transition to ResignedState")
PAUSE_S, SHORT_S, LATER_S = 5.0, 0.5, 15.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether who was removed leads on."""
    quorum = Quorum(cluster)
    cluster.stop(SPARE)
    first = quorum.leader(VOTERS)
    follower, third = [name for name in VOTERS if name != first]
    quorum.remove(third, first)
    quorum.await_voters(follower, (first, follower))
    cluster.stop(third)
    with quorum.remover(first, first) as removal:
        removal.answer()
        cluster.pause(follower)
        removal.do("")
        time.sleep(SHORT_S if control else PAUSE_S)
        cluster.resume(follower)
        quorum.await_voters(follower, (follower,))
        click.echo(f"         {follower} has the set without {first}")
        with evidence.asking_brokers(cluster, folder, [BROKER], partitions=0):
            time.sleep(LATER_S)
        metadata.write(metadata.dump(cluster), folder / metadata.METADATA)
        click.echo(f"         the removal: {removal.do('')['error'] or 'done'}")
    outlived = RESIGNED.search(cluster.log(first)) is None
    click.echo(f"         {first} {'leads on' if outlived else 'has resigned'}")
    quorum.status(first)
    if outlived:
        try:
            quorum.remove(first, first)
        except ClusterError as error:
            click.echo(f"         it is to be removed again: {str(error)[-120:]}")
        for other in (follower, BROKER):
            cluster.cut(first, other)
        time.sleep(LATER_S)
        resigned = RESIGNED.search(cluster.log(first))
        click.echo(f"         cut off, {first} {'has resigned' if resigned else 'leads on'}")
        click.echo(f"         {follower} led last in epoch {quorum.epoch(follower)}")
    return outlived


main = evidence.experiment(
    run,
    "Try whether a controller that was removed goes on leading.",
    control="The other one has the new set in time.",
    layout="voters",
    guests=("client",),
    shown="who was removed leads on",
    otherwise="who was removed resigned",
)
