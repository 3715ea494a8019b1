"""Z71 on a real cluster: a producer is told that its transaction is committed, and it is aborted.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import ADMIN, CLIENT, STATES, Partition, size, until, within
from experiments.transact import Writer, numbers
from kraftcheck.kafka.live import txnlog
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

LEADER, NEXT, BEHIND = "b1", "b2", "b3"
CONFIGURATION = Configuration(transactions=True, isolation="read_committed", one_client=False)
TIMEOUT_S = 60
"""Kafka's own transaction.timeout.ms; brokers look every ten seconds whose time is over."""
CUT_BEFORE_S = 4


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records of a committed transaction are not read."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, NEXT, BEHIND]).create(asking=NEXT)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        with txnlog.Watch(cluster) as watch, Writer(cluster, scene, CLIENT) as writer:
            lead = partial(partition.elect, asking=[LEADER, NEXT], topic=STATES, settle=0)
            lead([LEADER, NEXT, BEHIND])
            writer.begin(2)
            began = time.monotonic()
            partition.say("two records are written in a transaction")
            time.sleep(TIMEOUT_S - CUT_BEFORE_S - (time.monotonic() - began))
            states, records = size(cluster, NEXT, STATES), size(cluster, LEADER, "t")
            scene.cut_off(BEHIND, LEADER, NEXT)
            until(lambda: size(cluster, NEXT, STATES) > states, f"{LEADER} decides to abort")
            partition.say(f"{LEADER} has decided to abort, {NEXT} has copied it")
            if not control:
                lead([NEXT, LEADER, BEHIND])
                written = within(lambda: size(cluster, LEADER, "t") > records, 15)
                marker = "the" if written else "no"
                partition.say(f"{NEXT} leads the transaction log, {marker} marker is written")
            loads = loaded(cluster, BEHIND)
            lead([BEHIND, NEXT, LEADER])
            until(lambda: loaded(cluster, BEHIND) > loads, f"{BEHIND} leads the transaction log")
            scene.heal()
            committed = writer.end("commit")
            partition.say(f"{BEHIND} leads the transaction log, the producer has committed")
            try:
                writer.begin(1)
                committed += writer.end("commit")
            except ClusterError as error:
                partition.say(f"its next transaction: {error}")
        scene.cut = watch.cut
    states_of = partition.dump(BEHIND, "*.log", "--transaction-log-decoder", topic=STATES)
    for line in [*partition.dump(LEADER, "*.log"), *states_of]:
        click.echo(f"         {line}")
    given = numbers(partition, NEXT)
    click.echo(f"committed: {committed}; Kafka's consumer is given {given}")
    return given != committed


def loaded(cluster: Cluster, host: str) -> int:
    """How often it has read the transaction log."""
    return cluster.log(host).count("Completed loading transaction metadata")


main = evidence.experiment(
    run,
    "Try whether a coordinator acts on a decision that is not committed.",
    control="Nobody leads who holds what is not committed.",
    settings=evidence.QUICK_TRANSACTIONS,
    guests=(CLIENT, ADMIN),
    shown="what was committed is not read",
    otherwise="as committed",
)
