"""Z100 on a real cluster: a static member is refused under its own id.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import click

from experiments import evidence
from experiments.group import CONFIGURATION, GROUP, joined, poll, tell
from experiments.tools import ADMIN, CLIENT, OFFSETS, TOOLS, TOPIC, Partition, within
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

COORDINATOR, OTHERS = "b1", ("b2", "b3")
CUT_S = 25.0
"""At most: less than it takes until b2 and b3 are out of the ISR."""
GIVEN_S = 40.0
REFUSED = "UnreleasedInstanceIdException"


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the application is refused."""
    partition = Partition(cluster, CLIENT, ADMIN, OTHERS).create(min_insync=1)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        greet(scene, {})
        before = joined(scene, "consumer", "earliest", commits=False)
        poll(before, 8)  # so that there is a log of groups
        before.leave()
        partition.elect([COORDINATOR, *OTHERS], asking=[OTHERS[0]], topic=OFFSETS)
        with application(cluster, static=not control) as process:
            scene.cut_off(COORDINATOR, *OTHERS)
            partition.say("an application joins")
            ended = has_ended(process, CUT_S)
            partition.say(f"it {'has ended' if ended else 'runs'}")
            scene.heal()
            ended = has_ended(process, GIVEN_S)
            process.terminate()
            said, _ = process.communicate()
        tell(partition, OTHERS[0], "--members", "--verbose")
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith("\tat")]
    for line in lines[-8:]:
        click.echo(f"         application: {line[:150]}")
    if REFUSED not in said and "1" not in lines:
        raise ClusterError("the application was neither refused nor given the record")
    return REFUSED in said and ended


def application(cluster: Cluster, static: bool) -> subprocess.Popen[str]:
    """Kafka's console consumer, which prints values, and ends with what it cannot go on with."""
    words = ["--topic", TOPIC, "--group", GROUP, "--from-beginning"]
    for each in ("group.protocol=consumer", *(["group.instance.id=i"] if static else [])):
        words += ["--command-property", each]
    known = ["--bootstrap-server", cluster.node(OTHERS[0]).listener]
    return cluster.tool(CLIENT, f"{TOOLS}.consumer.ConsoleConsumer", *known, *words)


def has_ended(process: subprocess.Popen[str], seconds: float) -> bool:
    """Waits so long at most."""
    return within(lambda: process.poll() is not None, seconds)


main = evidence.experiment(
    run,
    "Try whether a static member is refused whose join was not answered in time.",
    control="The application has no instance id.",
    settings=evidence.QUICK_GROUPS,
    guests=(CLIENT, ADMIN),
    shown="the application was refused under its own id",
    otherwise="it was given the record",
)
