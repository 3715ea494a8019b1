"""H10 of transactions on a real cluster: a commit comes in the gap of a fence.

    .venv/bin/python -m experiments.fenced_amid [--control] [--repeat N]

A coordinator that is to abort a transaction, as its producer was replaced, notes first that it
fences that, and then aborts; between the two it lets go of the transaction's lock. Whoever asks
then for a commit is told UNKNOWN_SERVER_ERROR, which no client takes for a fence.

In each of a thousand rounds a producer has a transaction with one record, and asks for its commit
about when another producer of the same id begins: within two milliseconds, before or after.

The control: it asks when the other one has begun.

Clients of ours (version 2), with no threads but theirs. All settings are Kafka's own, but for
transaction.state.log.num.partitions=1 (50 by default): a quick start.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.by_request import Connections, Producer, await_log
from experiments.tools import HOSTS, STATES, Partition
from experiments.transact import ID
from kraftcheck.kafka.live.cluster import Cluster

COORDINATOR = LEADER = HOSTS[0]
ROUNDS, APART_S = 1000, 0.002
UNKNOWN = "UnknownError"
"""kafka-python's name of UNKNOWN_SERVER_ERROR."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a commit was told UNKNOWN_SERVER_ERROR."""
    del folder  # what the coordinator says is judged here, not as a history
    partition = Partition(cluster, LEADER, LEADER, HOSTS)
    partition.create(asking=LEADER)
    chance, told = random.Random(1), Counter[str]()
    with Connections(cluster) as one, Connections(cluster) as two, ThreadPoolExecutor(1) as beside:
        await_log(one, LEADER)
        partition.elect(HOSTS, asking=HOSTS, topic=STATES)
        first = Producer(ID, 2, LEADER)
        first.init(one, COORDINATOR)
        for value in range(ROUNDS):
            first.write(one, COORDINATOR, value)
            second = Producer(ID, 2, LEADER)
            apart = chance.uniform(-APART_S, APART_S)
            begun = beside.submit(begin, second, two, -apart)
            if control:
                begun.result()
            time.sleep(max(0.0, apart))
            told[first.end(one, COORDINATOR, committed=True)] += 1
            begun.result()
            first = second
    found = cluster.log(COORDINATOR).count("already a pending state PREPARE_EPOCH_FENCE")
    click.echo(f"what {ROUNDS} commits were told: {dict(told)}")
    click.echo(f"the coordinator's log has the exception {found} times")
    return told[UNKNOWN] > 0


def begin(producer: Producer, by: Connections, seconds: float) -> None:
    """After so long, if that is not gone by."""
    time.sleep(max(0.0, seconds))
    producer.init(by, COORDINATOR)


main = evidence.experiment(
    run,
    "Try whether a commit that comes amid a fence is told so.",
    control="It comes after it.",
    settings=evidence.QUICK_TRANSACTIONS,
    shown="a commit was told UNKNOWN_SERVER_ERROR",
    otherwise="none was",
)


if __name__ == "__main__":
    main()
