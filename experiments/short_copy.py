"""A suspicion of reading on a real cluster: a start keeps the shorter log of a replica that moves.

t-0 has one replica, on b1, and is moved to the other log directory there. The copy has caught up,
the controller, which stands still for a moment, is yet to accept the new directory; ten more
records are written, which the copy lacks, since it is throttled. The controller accepts, and b1
ends. A start takes the log in the directory that the metadata name.

--how kill: the process is killed as soon as it has heard that the directory was accepted. Records
are lost (of a single replica that ended uncleanly, Kafka promises nothing). stop: it is stopped,
and names its own directory again within 0.3 s, so that nothing is lost.

The control: the controller does not stand still, and b1 ends two seconds after the records.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, until
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

BROKER, CONTROLLER = "b1", "c1"
SECOND: Final = "second"
MOVE: Final = Path(__file__).resolve().parent / "MoveLog.java"
CONFIGS: Final = "kafka.admin.ConfigCommand"
RATE: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
BEFORE, AFTER = 10, 10
APPLIED: Final = f"Skipped the become-leader state change for {TOPIC}-0"


def run(cluster: Cluster, folder: Path, control: bool, how: str) -> bool:
    """Whether records are not read that were acknowledged."""
    partition = Partition(cluster, BROKER, BROKER, (BROKER,))
    second = partition.add_directory(BROKER, SECOND)
    partition.create(asking=BROKER, min_insync=1)
    if not (second / f"{TOPIC}-0").exists():
        raise ClusterError("t-0 is not in the second directory")
    configuration = Configuration(replication_factor=1, min_insync_replicas=1, one_client=False)
    with evidence.scene(cluster, folder, configuration) as scene:
        greet(scene, {}, BEFORE)
        target = cluster.directory / BROKER
        number, listener = str(cluster.node(BROKER).number), cluster.node(BROKER).listener
        known = f"--bootstrap-server {listener} --entity-type brokers --entity-name {number}"
        cluster.run_tool(BROKER, CONFIGS, *known.split(), "--alter", "--add-config", f"{RATE}=1")
        if not control:
            scene.pause(CONTROLLER)
        cluster.run_tool(BROKER, str(MOVE), listener, TOPIC, number, str(target))
        until(lambda: any(target.glob(f"{TOPIC}-0.*-future")), "a copy is begun", 10)
        time.sleep(1)
        greet(scene, {}, AFTER)
        click.echo(f"         {BEFORE} and {AFTER} records: {logs(cluster, second)}")
        if not control:
            scene.resume(CONTROLLER)
        if how == "kill" and not control:
            until(lambda: APPLIED in cluster.log(BROKER), "it hears of its new directory", 10)
        else:
            time.sleep(2)
        (scene.kill if how == "kill" else scene.stop)(BROKER)
        click.echo(f"         stopped: {logs(cluster, second)}")
        scene.start(BROKER)
        partition.await_leader(BROKER, asking=BROKER)
        click.echo(f"         started: {logs(cluster, second)}")
        until(lambda: (target / f"{TOPIC}-0").exists(), "the move has ended", 60)
        said = [line for line in cluster.log(BROKER).splitlines() if "abandoned future" in line]
        click.echo(f"         {said[0] if said else 'no future log was abandoned'}")
    given = partition.read(BROKER)
    click.echo(f"Kafka's consumer is given {' '.join(given)}")
    return len(given) < BEFORE + AFTER


def logs(cluster: Cluster, second: Path) -> str:
    """Each log of the partition, with the bytes that are in it."""
    found = []
    for directory in (cluster.directory / BROKER, second):
        for log in sorted(directory.glob(f"{TOPIC}-0*")):
            size = sum(file.stat().st_size for file in log.glob("*.log"))
            kind = "future" if log.name.endswith("-future") else "replica"
            kind = "deleted" if log.name.endswith("-delete") else kind
            found.append(f"{directory.name}: {kind} of {size} bytes")
    return ", ".join(found)


main = evidence.experiment(
    run,
    "Try whether a move between log directories of a broker loses records when the broker stops.",
    control="The controller accepts the new directory at once, and b1 ends two seconds later.",
    more=[evidence.choice("--how", ("kill", "stop"))],
    reasons=[f"{RATE}=1: a short script; ten seconds between two fetches of the copy"],
    shown="acknowledged records are not read",
    otherwise="everything is read",
)
