"""Z133 on a real cluster: a broker that is no replica any more stays eligible to lead.

    .venv/bin/python -m experiments.stale_eligible [--control] [--repeat N]

The eligible leader replicas (ELR, KIP-966) have left the ISR and still hold everything that was
acknowledged. When a reassignment ends, the broker that it removes is taken for one of them: it was
in the ISR a moment ago. It deletes its log. Should it become a replica again, it may be elected.

1. b1, b2 and b3 hold the topic, min.insync.replicas is 2. Ten records are acknowledged.
2. b2 is stopped, and then b3: ISR b1, ELR b3.
3. b4 takes b1's place: the replicas are to be b2, b3 and b4. b4 copies everything, and the
   reassignment ends: ISR b4, ELR b1 and b3. b1 deletes its log.
4. b1 is stopped. It takes b2's place: the replicas are to be b1, b3 and b4.
5. b4 is stopped, and b1 is started. It is eligible: it leads, with an empty log.
6. The others are started, and cut their logs to b1's.

The control: b3 is stopped after the reassignment has ended. There are two in the ISR by then, as
many as min.insync.replicas, so that there is no ELR to add to; all else is the same.

All settings are Kafka's own. Every stop is a clean one (SIGTERM), no election is unclean, and no
link is cut.

Ends with 1 if acknowledged records are gone, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition
from live.clients import Setting, greet, read_all
from live.cluster import Cluster, ClusterError
from live.journal import HISTORY, Journal
from reference.clients.promises import Configuration

B1, B2, B3, B4 = HOSTS = ("b1", "b2", "b3", "b4")
CONFIGURATION = Configuration(one_client=False, goes_back=True, isolation="read_committed")
RECORDS = 10
ELECTION_S = 20
"""A leaderless partition whose eligible replica is back has a leader within a second or so."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether acknowledged records are gone."""
    partition = Partition(cluster, B1, B1, HOSTS)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)

        def stop(host: str) -> None:
            journal.moment("start-stop", host)
            cluster.stop(host)

        def start(host: str, wait: bool = True) -> None:
            cluster.start(host, wait=wait)
            journal.moment("stop-stop", host)

        def say(what: str, described: str) -> None:
            partition.say(what)
            click.echo(f"         {described}")

        Partition(cluster, B1, B1, (B1, B2, B3)).create(asking=B1)
        greet(setting, {}, RECORDS)
        for host in (B2,) if control else (B2, B3):
            stop(host)
        others = {B3} if control else set()
        described = partition.await_isr({B1, *others}, asking=B1)
        say(f"{RECORDS} records acked; {'b2' if control else 'b2, b3'} stopped", described)
        partition.reassign((B2, B3, B4), asking=B1)
        say("b4 has taken b1's place", partition.await_isr({B4, *others}, asking=B4))
        if control:
            stop(B3)
            partition.await_isr({B4}, asking=B4)
        stop(B1)
        partition.reassign((B1, B3, B4), asking=B4)
        say("b1 is to take b2's place", partition.describe(B4))
        stop(B4)
        start(B1)
        say("b4 stopped, b1 started", elected(partition))
        for host in (B4, B2):
            start(host, wait=False)
        start(B3)
        say("all are started", partition.await_isr({B1, B3, B4}, asking=B3))
        read_all(setting, {})
    logs = evidence.write(cluster, folder, CONFIGURATION)
    for broker in logs:
        click.echo(f"         on b{broker.broker}: {len(broker.records)} records")
    given = len(partition.read(B3))
    click.echo(f"{RECORDS} records acknowledged; Kafka's consumer is given {given}")
    return given < RECORDS


def elected(partition: Partition) -> str:
    """Waits whether b1 is, though nobody is up who holds anything. Returns `describe`."""
    try:
        return partition.await_leader(B1, asking=B1, seconds=ELECTION_S)
    except ClusterError:
        return partition.describe(B1)


@evidence.options("stale_eligible", control="Nobody is eligible while b1 is replaced.")
def main(control: bool, **how: Any) -> None:
    """Try whether a broker that is no replica any more stays eligible to lead."""
    evidence.settle(
        partial(run, control=control),
        "spare",
        {},
        (),
        shown="acknowledged records are gone",
        otherwise="all are there",
        **how,
    )


if __name__ == "__main__":
    main()
