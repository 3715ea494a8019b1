"""Z87 on a real cluster: of several commits of offsets in one transaction an earlier one counts.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.copying import COPIES, Application
from experiments.group import NEWEST
from experiments.tools import ADMIN, CLIENT, OFFSETS, STATES, Partition, until
from finds.Z163.run import sends_again_in
from kraftcheck.kafka.live.clients import Setting, greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.journal import Journal
from kraftcheck.reference.clients.promises import Configuration

COORDINATOR, LEADER, OTHER = "b1", "b2", "b3"
PART, PARTS = 5, 3
HANDLED_S = 1.0
"""Until a request that has arrived is handled."""
CONFIGURATION = Configuration(
    one_client=False,
    goes_back=True,
    isolation="read_committed",
    transactions=True,
    replication_factor=2,
    min_insync_replicas=1,
)


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were copied twice."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, OTHER]).create(min_insync=1)
    words = ("--create", "--topic", COPIES, "--replica-assignment", "2:3")
    partition.ask("TopicCommand", LEADER, *words, "--config", "min.insync.replicas=1")
    with evidence.scene(cluster, folder, CONFIGURATION, also=[COPIES]) as scene:
        with Application(cluster, scene, "m", NEWEST, CLIENT) as m:
            read(scene, m, PART)
            partition.elect([LEADER, OTHER], asking=[LEADER], topic=STATES)
            partition.elect([COORDINATOR, OTHER], asking=[LEADER], topic=OFFSETS)
            m.write()
            told = [m.place()]
            read(scene, m, PART * (2 if control else 1))
            m.write(more=True)
            told.append(late(cluster, partition, m, scene.journal))
            if not control:
                read(scene, m, PART)
                m.write(more=True)
                told.append(m.place())
            partition.say(f"it has read {len(m.read)}, and said so")
            until(lambda: not under_way(cluster), "its kernel sends again")
            time.sleep(HANDLED_S)
            told.append(m.commit())
            partition.say(f"the transaction is committed; refused: {[*filter(None, told)]}")
        with Application(cluster, scene, "n", NEWEST, CLIENT) as n:
            n.poll("poll 20000")
            partition.say(f"it is started anew, and is given {[value for *_, value in n.read]}")
            if n.read:
                n.copy()
    for line in partition.dump(COORDINATOR, "*.log", "--offsets-decoder", topic=OFFSETS):
        if '"offset":' in line or "endTxnMarker" in line:
            click.echo(f"         {' '.join(line.split())[-200:]}")
    copied = partition.read(LEADER, "read_committed", COPIES)
    click.echo(f"{PART * PARTS} records; {len(copied)} copies: {' '.join(copied)}")
    return len(copied) > len(set(copied))


def read(setting: Setting, of: Application, records: int) -> None:
    """It reads so many that are written to the topic."""
    greet(setting, {}, records)
    of.poll(f"read {records}")


def late(cluster: Cluster, partition: Partition, of: Application, journal: Journal) -> str:
    """It says how far it has read, while its link is cut; again, when that is whole."""
    cluster.cut(CLIENT, COORDINATOR)
    journal.moment("start-partition", COORDINATOR)
    with ThreadPoolExecutor(1) as beside:
        said = beside.submit(of.place)
        until(lambda: under_way(cluster), "it gives up the connection")
        cluster.heal()
        journal.moment("stop-partition", COORDINATOR)
        told = said.result()
    again = sends_again_in(cluster, CLIENT, COORDINATOR)
    partition.say(f"it has connected anew; its kernel sends again in {again:.0f} s")
    return told


def under_way(cluster: Cluster) -> bool:
    """Whether the application's kernel has yet to send what was in a connection that is closed."""
    return sends_again_in(cluster, CLIENT, COORDINATOR) < math.inf


main = evidence.experiment(
    run,
    "Try whether of several commits of offsets in one transaction the last one counts.",
    control="The last one is what comes late.",
    settings=evidence.QUICK_START,
    guests=(CLIENT, ADMIN),
    shown="records were copied twice",
    otherwise="each was copied once",
)
