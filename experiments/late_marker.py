"""Z163 on a real cluster: a marker that comes again has a later transaction aborted for nothing.

    .venv/bin/python -m experiments.late_marker [--control] [--repeat N]

The leader of a partition guards the first batch of a transaction while its coordinator is asked. A
marker that is delivered a second time takes the guard of a later transaction away.

1. b1 leads the transaction log, b2 the topic. Kafka's Java producer writes to t-0 in a first
   transaction. The link of b1 and b2 breaks, and the producer commits: it is told so, and b1's
   request to write the marker is lost on the way.
2. After request.timeout.ms (30 s) b1 gives up the connection. Its kernel goes on to send what was
   in it. The link is whole again: b1 connects anew, sends the marker once more, and it is written.
   The first transaction is complete.
3. A second transaction writes to t-1 only, and is committed.
4. A second or two before b1's kernel sends again what was in the first connection, b1 is paused.
   The third transaction's first batch comes to t-0, and b2 asks b1 whether it is under way.
5. The first request arrives: b2 writes the first transaction's marker a second time, and the guard
   is gone. b1 goes on and answers, and the batch is refused.

The control: the second transaction writes to t-0 as well, all else is the same. The marker that
comes again is then refused, for its epoch is an old one.

All settings are Kafka's own, but for transaction.state.log.num.partitions=1 (a start in seconds; 50
by default). The topic has replicas on b2 and b3, the transaction log on b1 and b3, so that nothing
but the request is held up by the broken link. Needs root, for network namespaces.

Ends with 1 if the third transaction is refused, with 0 if it is not, with 3 if it could not be
tried.
"""

from __future__ import annotations

import math
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition
from experiments.transact import Writer
from experiments.uncommitted_decision import STATES, until, within
from kraftcheck.live.clients import Setting, read_all
from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

COORDINATOR, LEADER, OTHER = "b1", "b2", "b3"
CLIENT, ADMIN = "client", "admin"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
REASONS = ("broker transaction.state.log.num.partitions=1: a quick start",)
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
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 2)
        with Writer(cluster, setting, CLIENT) as writer:
            partition.elect([COORDINATOR, OTHER], asking=[COORDINATOR, LEADER], topic=STATES)
            writer.begin(1)  # b1 and b2 are connected
            writer.end("commit")
            until(lambda: partition.batches(LEADER) == 2, "its marker is written")
            writer.begin(1)
            cluster.cut(COORDINATOR, LEADER)
            journal.moment("start-partition", COORDINATOR)
            writer.end("commit")
            partition.say("the first transaction is committed, its marker on the way")
            until(lambda: GIVEN_UP in cluster.log(COORDINATOR), "b1 gives up the connection")
            cluster.heal()
            journal.moment("stop-partition", COORDINATOR)
            until(lambda: partition.batches(LEADER) == 4, "its marker is written")
            partition.say("b1 has connected anew, the marker is written")
            writer.begin(1, 1, *([0] if control else []))
            writer.end("commit")
            until(lambda: sends_again_in(cluster) < BEFORE_S, "b1's kernel sends again")
            told = third(cluster, partition, writer)
        read_all(setting, {})
    evidence.write(cluster, folder, CONFIGURATION)
    for line in [line for line in partition.dump(LEADER, "*.log") if "isControl" in line]:
        click.echo(f"         {line}")
    click.echo(f"the producer is told: {told}")
    return any(each in told for each in REFUSALS)


def sends_again_in(cluster: Cluster, of: str = COORDINATOR, to: str = LEADER) -> float:
    """Seconds until the kernel of one host sends again what was in a connection to another one that
    it has closed; infinite, if there is none.
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
    settings=SETTINGS,
    reasons=REASONS,
    guests=(CLIENT, ADMIN),
    shown="a transaction is aborted for nothing",
    otherwise="committed",
)


if __name__ == "__main__":
    main()
