"""Z417 on a real cluster: a share group never receives committed records behind an aborted batch.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, Program
from experiments.transact import ID, TRANSACT
from finds.Z410.run import GROUP, N1, SETTINGS, configure, delete_before, receive, write
from kraftcheck.kafka.live.cluster import Cluster

RECORDS = 5
"""Of the aborted batch, and of each write behind it."""
START = 2
"""Where the log starts: inside the aborted batch."""
COMMITTED = [*range(RECORDS + 1, 2 * RECORDS + 1)]
LATER = [*range(2 * RECORDS + 1, 3 * RECORDS + 1)]
LOCK_S, LIMIT = 15, 2
"""The shortest and the fewest that Kafka allows to a group."""
ONE_BATCH = "linger.ms=2000"
LOG_OF_TRANSACTIONS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
ALONE = {why: {**them, **LOG_OF_TRANSACTIONS} for why, them in SETTINGS.items()}


def run(cluster: Cluster, folder: Path, limit: int, control: bool) -> bool:
    """Whether the group lacks committed records."""
    partition = Partition(cluster, N1, N1, (N1,))
    patience = 2 * limit * LOCK_S
    known = ["--bootstrap-server", cluster.node(N1).listener]
    partition.create(asking=N1, min_insync=1)
    configure(
        cluster,
        known,
        "share.auto.offset.reset=earliest",
        "share.isolation.level=read_committed",
        f"share.record.lock.duration.ms={1000 * LOCK_S}",
        f"share.delivery.count.limit={limit}",
    )
    words = [known[1], TOPIC, ID, ONE_BATCH]
    with Program(cluster.tool(N1, str(TRANSACT), *words)) as producer:
        producer.answer()
        for step in ("begin", f"batch {RECORDS}", "abort"):
            producer.do(step)
    write(cluster, known, RECORDS)
    partition.say("0-4 are one aborted batch, 6-10 are committed")
    if not control:
        delete_before(cluster, partition, folder, START)
        partition.say(f"the log starts at {START}")
    first = receive(cluster, known, RECORDS, patience)
    partition.say(f"the group is given {first or 'nothing'}")
    write(cluster, known, RECORDS)
    second = receive(cluster, known, 2 * RECORDS - len(first), patience)
    partition.say(f"after five more records the group is given {second or 'nothing'}")
    partition.describe_group(GROUP, asking=N1)
    click.echo(f"due were {[*COMMITTED, *LATER]}")
    return not {*COMMITTED, *LATER} <= {*first, *second}


main = evidence.experiment(
    run,
    "Try whether a share group is given what is committed behind a part of an aborted batch.",
    control="The log start does not move.",
    more=[
        click.option(
            "--limit",
            type=click.IntRange(LIMIT, 10),
            default=LIMIT,
            show_default=True,
            help="The group's number of deliveries.",
        )
    ],
    layout="single",
    settings=ALONE,
    reasons=[
        "group share.isolation.level=read_committed: what is tried",
        f"group share.delivery.count.limit (--limit) and share.record.lock.duration.ms={LOCK_S}000:"
        " a quick end",
        f"producer {ONE_BATCH}: the records of the transaction are one batch",
    ],
    shown="the share group is not given committed records",
    otherwise="the share group is given all committed records",
)
