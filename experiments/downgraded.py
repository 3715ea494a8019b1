"""On a real cluster: transaction.version goes down to 0, and a transactional id cannot be used.

    .venv/bin/python -m experiments.downgraded [--control] [--repeat N]

A row that was written for a client of version 2 keeps that version, and cannot be written in the
form of version 0 (TransactionLog.valueToBytes). The exception comes after the row's transition has
begun, and nobody takes that back: from then on every request for the id meets a transition that is
under way.

1. Kafka's Java producer commits a transaction, and closes.
2. The feature transaction.version is set to 0, as an operator does it (kafka-features downgrade).
3. A producer with the same transactional.id initialises, and after it another one.

The control: it is set to 1.

Clients, topic and brokers have Kafka's own settings, but for
transaction.state.log.num.partitions=1 (a start in seconds; 50 by default).

Ends with 1 if the last producer cannot begin, with 0 if it can.
"""

from __future__ import annotations

import threading
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, Program
from experiments.transact import ID, TRANSACT
from live.cluster import Cluster, ClusterError

ASKED = "b1"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
REASONS = ("broker transaction.state.log.num.partitions=1: a quick start",)
VERSION = "transaction.version"
PATIENCE_S = 90.0
"""Above the producer's own max.block.ms, a minute."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the last producer cannot begin."""
    del folder  # what clients were told is judged here, not as a history
    partition = Partition(cluster, ASKED, ASKED, ["b1", "b2", "b3"])
    partition.create(asking=ASKED)
    partition.say(f"first: {begun(cluster, 'begin', 'send 1', 'commit')}")
    words = ["downgrade", "--feature", f"{VERSION}={int(control)}"]
    click.echo(partition.ask("FeatureCommand", ASKED, *words).strip())
    partition.say(f"second: {begun(cluster)}")
    told = begun(cluster)
    partition.say(f"third: {told}")
    return told != "can begin"


def begun(cluster: Cluster, *steps: str) -> str:
    """A producer initialises, takes the steps and closes; or what it was told instead.

    Who does not come back in time is killed: closing may wait for a request that is under way.
    """
    process = cluster.tool(ASKED, str(TRANSACT), cluster.bootstrap, TOPIC, ID)
    patience = threading.Timer(PATIENCE_S, process.kill)
    patience.start()
    try:
        with Program(process) as producer:
            producer.answer()
            for step in steps:
                producer.do(step)
    except ClusterError as error:
        return " ".join(str(error).split())[:200]
    finally:
        patience.cancel()
    return "can begin"


main = evidence.experiment(
    run,
    "Try whether a transactional id can be used after a downgrade of transaction.version.",
    control="transaction.version is set to 1.",
    settings=SETTINGS,
    reasons=REASONS,
    shown="the id cannot be used",
    otherwise="it can be used",
)


if __name__ == "__main__":
    main()
