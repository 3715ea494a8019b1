"""Z411 on a real cluster: a share group skips what was written while its consumers were away.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

from pathlib import Path
from threading import Timer

import click

from experiments import evidence
from experiments.tools import Partition
from finds.Z410.run import GROUP, N1, SETTINGS, receive, write
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

FIRST_S, SECOND_S = 20, 30
"""How long the consumers wait for a record."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group lacks records."""
    partition = Partition(cluster, N1, N1, (N1,))
    known = ["--bootstrap-server", cluster.node(N1).listener]
    partition.create(asking=N1, min_insync=1)
    timer = Timer(FIRST_S * 0.75, write, (cluster, known, 1))
    if control:
        timer.start()
    first = receive(cluster, known, 1, FIRST_S)
    if control and not first:
        raise ClusterError("the first consumer is given no record in time")
    partition.say(f"the first consumer is given {first or 'nothing'}")
    write(cluster, known, 5)
    begin = len(first)
    due = [*range(begin, begin + 5)]
    received = receive(cluster, known, 5, SECOND_S)
    partition.say(f"the second is given {received or 'nothing'}")
    partition.describe_group(GROUP, asking=N1)
    click.echo(f"due were {due}")
    return not {*due} <= {*received}


main = evidence.experiment(
    run,
    "Try whether a share group is given what was written while its consumers were away.",
    control="The first consumer is given a record.",
    layout="single",
    settings=SETTINGS,
    shown="the share group is not given records that were written after it had subscribed",
    otherwise="the share group is given all records that were written after it had subscribed",
)
