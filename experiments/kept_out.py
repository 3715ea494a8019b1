"""Z88 on a real cluster: a producer that was replaced goes on, and keeps its successor out.

    .venv/bin/python -m experiments.kept_out [--control] [--repeat N]

A producer that initialises fences whoever has its transactional.id: the open transaction is aborted
with an epoch that nobody has. With an epoch for each transaction (transaction.version 2) the one
that was fenced is told to abort, and its abort is answered with that very epoch, as if it were the
retry of an abort of its own. So it goes on; the next attempt of its successor meets an open
transaction again.

1. A Java producer writes for half a second in each transaction, commits, and aborts when it is told
   to (Insist.java).
2. After two seconds another one with the same transactional.id initialises.

The control: transaction.version is 1; there an abort with the epoch before is fenced.

Clients, topic and brokers have Kafka's own settings, but for
transaction.state.log.num.partitions=1 (a start in seconds; 50 by default).
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, Program
from experiments.transact import ID
from kraftcheck.kafka.live.cluster import Cluster

INSIST = Path(__file__).resolve().parent / "Insist.java"
ASKED = "b1"
VERSION = "transaction.version"


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the second producer is kept out."""
    del folder  # what clients were told is judged here, not as a history
    partition = Partition(cluster, ASKED, ASKED, ["b1", "b2", "b3"])
    partition.create(asking=ASKED)
    if control:
        words = ["downgrade", "--feature", f"{VERSION}=1"]
        click.echo(partition.ask("FeatureCommand", ASKED, *words).strip())
    with Program(cluster.tool(ASKED, str(INSIST), cluster.bootstrap, TOPIC, ID)) as both:
        told = both.answer()
    click.echo(
        f"the second producer: {told['second']} after {told['ms']} ms; the first one committed "
        f"{told['committed']} transactions, aborted {told['aborted']} meanwhile, and "
        f"{'went on' if not told['first'] else 'ended with ' + told['first']}"
    )
    return bool(told["second"] != "initialised")


main = evidence.experiment(
    run,
    "Try whether a producer that was replaced can keep its successor out.",
    control="transaction.version is 1.",
    settings=evidence.QUICK_TRANSACTIONS,
    shown="the second producer is kept out",
    otherwise="it can begin",
)


if __name__ == "__main__":
    main()
