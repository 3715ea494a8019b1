"""Z75 on a real cluster: a marker that comes again commits what its producer aborts (version 1).

    .venv/bin/python -m experiments.ended_by_marker [--control] [--repeat N]

Before transactions had an epoch each (KIP-890, part 2), nothing told the marker of one from that
of the next of the same producer.

1. As in Z163: the marker of a first transaction, which is committed, is lost on a broken
   link; b1 gives up the connection, connects anew, and sends it again. It is written.
2. A second or two before b1's kernel sends again what was in the first connection, a second
   transaction writes to the same partition.
3. The first request arrives: b2 writes that marker once more, and the second transaction is
   committed there. Its producer aborts it.

transaction.version is set to 1, as an operator does it (kafka-features downgrade); clients that
know of version 1 only (librdkafka) have it so on every cluster. The control: it stays 2, all else
is the same. All other settings are those of finds/Z163/run.py.
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.tools import ADMIN, CLIENT, STATES, TOPIC, Partition, Program, until, within
from experiments.transact import ID, TRANSACT
from finds.Z163.run import (
    BEFORE_S,
    COORDINATOR,
    GIVEN_UP,
    LEADER,
    OTHER,
    PAUSED_S,
    sends_again_in,
)
from finds.Z166.run import VERSION
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

ABORTED = "7"
"""The value that the second transaction sends."""


def run(cluster: Cluster, _folder: Path, control: bool) -> bool:
    """Whether a record of the aborted transaction is read as committed."""
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, OTHER]).create(min_insync=1)
    if not control:
        words = ["downgrade", "--feature", f"{VERSION}=1"]
        click.echo(partition.ask("FeatureCommand", LEADER, *words).strip())
    with Program(cluster.tool(CLIENT, str(TRANSACT), cluster.bootstrap, TOPIC, ID)) as writer:
        writer.answer()
        partition.elect([COORDINATOR, OTHER], asking=[COORDINATOR, LEADER], topic=STATES)
        for step in ("begin", "send 0", "commit"):  # b1 and b2 are connected
            writer.do(step)
        until(lambda: partition.batches(LEADER) == 2, "its marker is written")
        writer.do("begin")
        writer.do("send 1")
        cluster.cut(COORDINATOR, LEADER)
        writer.do("commit")
        partition.say("the first transaction is committed, its marker on the way")
        until(lambda: GIVEN_UP in cluster.log(COORDINATOR), "b1 gives up the connection")
        cluster.heal()
        until(lambda: partition.batches(LEADER) == 4, "its marker is written")
        partition.say("b1 has connected anew, the marker is written")
        until(lambda: sends_again_in(cluster) < BEFORE_S, "b1's kernel sends again what was lost")
        writer.do("begin")
        writer.do(f"send {ABORTED}")
        again = within(lambda: partition.batches(LEADER) > 5, PAUSED_S)
        partition.say(f"the second transaction is open; {'the' if again else 'no'} marker comes")
        writer.do("abort")
    for line in [line for line in partition.dump(LEADER, "*.log") if "isControl" in line]:
        click.echo(f"         {line}")
    read = partition.read(LEADER, "read_committed")
    if "1" not in read:
        raise ClusterError("the first transaction is committed, and is not read")
    click.echo(f"read as committed: {', '.join(read)}; aborted was {ABORTED}")
    return ABORTED in read


main = evidence.experiment(
    run,
    "Try whether a marker that comes again commits the next transaction.",
    control="The feature transaction.version stays 2.",
    settings=evidence.QUICK_TRANSACTIONS,
    guests=(CLIENT, ADMIN),
    shown="a record of an aborted transaction is read as committed",
    otherwise="what was read is what was committed",
)
