"""Z64 on a real cluster: an end that comes late tears the next transaction apart (version 1).

    .venv/bin/python -m experiments.late_end [--control] [--repeat N]

Before transactions had an epoch each (KIP-890, part 2), nothing told the request that ends one from
that which ends the next of the same producer.

1. The link of the producer and of b1, which coordinates it, breaks, and it aborts a first
   transaction. After request.timeout.ms (30 s) it gives up the connection; its kernel goes on to
   send what was in it. The link is whole again: it connects anew, asks again, and is told that the
   transaction is aborted.
2. A second or two before its kernel sends again what was in the first connection, a second
   transaction writes to t-0.
3. The first request arrives: b1 aborts what is open. The second transaction goes on: it writes to
   t-1, for which b1 begins anew, and is committed. Its producer is told so.

transaction.version is set to 1, as an operator does it (kafka-features downgrade); clients that
know of version 1 only (librdkafka) have it so on every cluster. The control: it stays 2, all else
is the same. All other settings are those of finds/Z163/run.py.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import msgspec

from experiments import evidence
from experiments.tools import ADMIN, CLIENT, STATES, Partition, until, within
from experiments.transact import Writer, numbers
from finds.Z163.run import (
    BEFORE_S,
    CONFIGURATION,
    COORDINATOR,
    LEADER,
    OTHER,
    PAUSED_S,
    sends_again_in,
)
from finds.Z166.run import VERSION
from kraftcheck.kafka.live.cluster import Cluster


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a record of the committed transaction is not read."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, OTHER])
    partition.create(asking=LEADER, min_insync=1, partitions=2)
    if not control:
        words = ["downgrade", "--feature", f"{VERSION}=1"]
        click.echo(partition.ask("FeatureCommand", LEADER, *words).strip())
    late = msgspec.structs.replace(CONFIGURATION, late_requests=not control)
    with (
        evidence.scene(cluster, folder, late, partitions=2) as scene,
        Writer(cluster, scene, CLIENT) as writer,
    ):
        partition.elect([COORDINATOR, OTHER], asking=[COORDINATOR, LEADER], topic=STATES)
        writer.begin(1)  # the producer and b1 are connected
        written = writer.end("commit")
        until(lambda: partition.batches(LEADER) == 2, "its marker is written")
        writer.begin(1)
        scene.cut_off(COORDINATOR, CLIENT)
        with ThreadPoolExecutor(1) as beside:
            ended = beside.submit(writer.end, "abort")
            until(lambda: _again_in(cluster) < math.inf, "the producer gives up the connection")
            scene.heal()
            ended.result()
        until(lambda: partition.batches(LEADER) == 4, "its marker is written")
        partition.say("the producer has connected anew, the first transaction is aborted")
        until(lambda: _again_in(cluster) < BEFORE_S, "the producer's kernel sends again")
        writer.begin(2, 0, 1, amid=lambda: _comes(partition))
        written += writer.end("commit")
        partition.say("the second transaction is committed")
    read = numbers(partition, LEADER)
    for line in [line for line in partition.dump(LEADER, "*.log") if "isControl" in line]:
        click.echo(f"         {line}")
    click.echo(f"committed: {written}, the last of it to t-1; read of t-0: {read}")
    return not {*written[:-1]} <= {*read}


def _comes(partition: Partition) -> None:
    """Waits for the marker of an end that comes late."""
    again = within(lambda: partition.batches(LEADER) > 5, PAUSED_S)
    partition.say(f"the second transaction is open; {'a' if again else 'no'} marker comes")


def _again_in(cluster: Cluster) -> float:
    return sends_again_in(cluster, CLIENT, COORDINATOR)


main = evidence.experiment(
    run,
    "Try whether an end that comes late ends the next transaction.",
    control="The feature transaction.version stays 2.",
    settings=evidence.QUICK_TRANSACTIONS,
    guests=(CLIENT, ADMIN),
    shown="a record of a committed transaction is not read",
    otherwise="what was read is what was committed",
)
