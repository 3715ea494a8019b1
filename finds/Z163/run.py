"""Z163 on a real cluster: a marker that comes again has a later transaction aborted for nothing.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import math
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import ADMIN, CLIENT, STATES, Partition, until, within
from experiments.transact import Writer
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

COORDINATOR, LEADER, OTHER = "b1", "b2", "b3"
CONFIGURATION = Configuration(
    transactions=True, isolation="read_committed", one_client=False, replication_factor=2
)
GIVEN_UP = "due to request timeout"
REFUSALS = ("InvalidTxnState", "TransactionAbortable")
BEFORE_S, PAUSED_S = 2.0, 6.0
"""When b1 is paused, before its kernel sends again; how long at most, which is less than
broker.session.timeout.ms (9 s)."""
_TIMER = re.compile(r"timer:\((?:on|persist),(?:(\d+)min)?(?:(\d+)(?:sec|\.))?(?:(\d+)ms)?,")


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the third transaction is refused."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, OTHER])
    partition.create(asking=LEADER, min_insync=1, partitions=2)
    with (
        evidence.scene(cluster, folder, CONFIGURATION, partitions=2) as scene,
        Writer(cluster, scene, CLIENT) as writer,
    ):
        partition.elect([COORDINATOR, OTHER], asking=[COORDINATOR, LEADER], topic=STATES)
        writer.begin(1)  # b1 and b2 are connected
        writer.end("commit")
        until(lambda: partition.batches(LEADER) == 2, "its marker is written")
        writer.begin(1)
        scene.cut_off(COORDINATOR, LEADER)
        writer.end("commit")
        partition.say("the first transaction is committed, its marker on the way")
        until(lambda: GIVEN_UP in cluster.log(COORDINATOR), "b1 gives up the connection")
        scene.heal()
        until(lambda: partition.batches(LEADER) == 4, "its marker is written")
        partition.say("b1 has connected anew, the marker is written")
        writer.begin(1, 1, *([0] if control else []))
        writer.end("commit")
        until(lambda: sends_again_in(cluster) < BEFORE_S, "b1's kernel sends again")
        told = third(cluster, partition, writer)
    for line in [line for line in partition.dump(LEADER, "*.log") if "isControl" in line]:
        click.echo(f"         {line}")
    click.echo(f"the producer is told: {told}")
    return any(each in told for each in REFUSALS)


def sends_again_in(cluster: Cluster, of: str = COORDINATOR, to: str = LEADER) -> float:
    """Give the seconds until one host retransmits on a closed connection to another.

    The host has closed it and the kernel sends again what was in it; infinite, if there is none.
    """
    words = ["ss", "-Htno", "state", "fin-wait-1", "dst", cluster.node(to).address]
    said = subprocess.run(cluster.on(of, words), capture_output=True, text=True, check=True).stdout
    times = [[int(number or 0) for number in found] for found in _TIMER.findall(said)]
    return min((60 * m + s + ms / 1000 for m, s, ms in times), default=math.inf)


def third(cluster: Cluster, partition: Partition, writer: Writer) -> str:
    """What the producer is told of the third transaction, while its coordinator is paused."""
    there = partition.batches(LEADER)
    cluster.pause(COORDINATOR)
    with ThreadPoolExecutor(1) as beside:
        begun = beside.submit(writer.begin, 2)
        again = within(lambda: partition.batches(LEADER) > there, PAUSED_S)
        cluster.resume(COORDINATOR)
        partition.say(f"b1 was paused; {'the' if again else 'no'} marker is written again")
        try:
            begun.result()
            writer.end("commit")
        except ClusterError as error:
            return str(error)
    return "committed"


main = evidence.experiment(
    run,
    "Try whether a marker that comes again has a later transaction refused.",
    control="The second transaction has a part in t-0 too.",
    settings=evidence.QUICK_TRANSACTIONS,
    guests=(CLIENT, ADMIN),
    shown="a transaction is aborted for nothing",
    otherwise="committed",
)
