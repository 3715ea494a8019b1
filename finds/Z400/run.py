"""Z400 on a real cluster: a controller's index of eligible leaders outlives the partition.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import HOSTS, TOPIC, Partition, within
from kraftcheck.kafka.live.artifacts import version
from kraftcheck.kafka.live.cluster import Cluster

B1, B2, B3 = HOSTS
CONTROLLER = "c1"
CONFIGURE = (
    "org.apache.kafka.tools.ConfigCommand" if version() >= "4.4" else "kafka.admin.ConfigCommand"
)
"""It moved in 4.4."""
UNFENCED = re.compile(r"Unfenced broker 3|fenced broker.*3.*has been unfenced")
FAILED = re.compile(r".*(?:ERROR|FATAL).*registerBroker.*")
REGISTERED_S = 40
"""A killed broker is registered again within its session's time, and some."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the controller fails when the broker registers."""
    partition = Partition(cluster, B1, B1, HOSTS).create(min_insync=3)
    cluster.kill(B3)
    described = partition.await_isr({B1, B2}, asking=B1)
    partition.say("b3 killed")
    click.echo(f"         {described}")
    if not control:
        words = ["--bootstrap-server", cluster.node(B1).listener, "--alter"]
        words += ["--entity-type", "topics", "--entity-name", TOPIC]
        cluster.run_tool(B1, CONFIGURE, *words, "--add-config", "min.insync.replicas=2")
        partition.say("min.insync.replicas=2")
        click.echo(f"         {partition.describe(B1)}")
    partition.ask("TopicCommand", B1, "--delete", "--topic", TOPIC)
    partition.say("the topic is deleted")
    cluster.start(B3, wait=False)
    failures = registered(cluster)
    for line in failures[:2]:
        click.echo(f"         {line[:300]}")
    click.echo(f"the controller failed {len(failures)} times while b3 tried to register")
    return bool(failures)


def registered(cluster: Cluster) -> list[str]:
    """Waits until the broker is registered again. Returns the controller's failures meanwhile."""
    within(lambda: UNFENCED.search(cluster.log(CONTROLLER)) is not None, REGISTERED_S, 1)
    return FAILED.findall(cluster.log(CONTROLLER))


main = evidence.experiment(
    run,
    "Try whether a controller's index of eligible leaders outlives a partition.",
    control="min.insync.replicas does not change.",
    layout="one-controller",
    shown="the controller fails",
    otherwise="the broker is registered",
)
