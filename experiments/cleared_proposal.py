"""Z69 on a real cluster: metadata clears a proposal that is on its way, and an ack comes too early.

    .venv/bin/python -m experiments.cleared_proposal [--control] [--repeat N]

Three brokers, min.insync.replicas 2, acks=all, clean elections only, no data lost by any disk.

1. F and G fall behind and leave the ISR. A leads alone. A's metadata is held up from now on.
2. F is back, and A has it added to the ISR (AlterPartition). A knows from the answer; the record
   of that change is still held up.
3. G is back, has everything, and A proposes to add it. The request is held up. G is cut off.
4. The record of F's joining arrives. It says nothing new, but A forgets what it has proposed: from
   now on the high watermark does not wait for G, once G has not been heard of for
   replica.lag.time.max.ms.
5. A record is produced with acks=all, copied by F, and acked. G lacks it.
6. The request arrives: G is in the ISR. A dies, and G is elected: the acked record is gone.

The control: the record arrives before G is back, as it most often does.

Ends with 1 if the acked record was lost, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from experiments import evidence
from experiments.tools import Partition
from live.cluster import Cluster, ClusterError
from live.interpose import ALTER_PARTITION, FETCH, Interposer

A, F, G, CONTROLLER = "b1", "b2", "b3", "c1"
PRODUCER, ADMIN = "producer", "admin"
LAG_SECONDS = 8
SETTINGS = {
    "replica.lag.time.max.ms": str(LAG_SECONDS * 1000),
    "replica.socket.timeout.ms": "3000",
    "controller.quorum.request.timeout.ms": "60000",
    "auto.leader.rebalance.enable": "false",
}
REASONS = (
    f"replica.lag.time.max.ms of {LAG_SECONDS} seconds: a quick run",
    "replica.socket.timeout.ms=3000, controller.quorum.request.timeout.ms=60000: what is held up "
    "is not asked for anew",
    "auto.leader.rebalance.enable=false: the leader moves when the script says so",
)


def run(cluster: Cluster, _folder: Path, control: bool) -> bool:
    """Whether a record was acked and then lost."""
    between = Interposer(cluster, A, CONTROLLER)
    partition = Partition(cluster, PRODUCER, ADMIN, (A, G, F))
    cluster.kill(A)
    cluster.start(A)  # its connections go through the interposer now
    partition.create(asking=F)
    for follower in (F, G):
        cluster.cut(A, follower)
    partition.await_acks(partition.produce(A, acks=1))
    partition.await_isr({A}, asking=F)
    partition.say("F and G are out of the ISR")
    between.hold_answers(FETCH)
    cluster.heal(A, F)
    partition.await_isr({A, F}, asking=F)
    time.sleep(3)
    partition.say("F has joined; A has not read so")
    if control:
        between.let_go(FETCH)
        time.sleep(3)
        between.hold_answers(FETCH)
    between.hold_requests(ALTER_PARTITION)
    cluster.heal(A, G)
    if not between.held.wait(30):
        raise ClusterError("A did not propose to add G")
    cluster.cut(A, G)
    partition.say("G has everything; its joining is proposed")
    between.let_go(FETCH)
    time.sleep(3)
    producer = partition.produce(A, acks=-1)
    time.sleep(LAG_SECONDS + 2)
    partition.say("a record is produced, and the lag time is over")
    partition.await_acks(partition.produce(A, acks=1))  # makes A try its high watermark
    acked = partition.await_acks(producer, 5)
    if not acked:
        partition.say("not acked: the high watermark waits for G")
        return False
    partition.say(f"acked: offset {acked[0]}")
    between.let_go(ALTER_PARTITION)
    between.hold_requests(ALTER_PARTITION)  # or else A would soon have G removed again
    partition.await_isr({A, F, G}, asking=F)
    cluster.kill(A)
    partition.await_leader(G, asking=F)
    time.sleep(2)
    partition.say("G has joined, A is killed, G is elected")
    values = partition.read(F)
    click.echo(f"a consumer reads {len(values)} records")
    between.close()
    return len(values) <= acked[0]


@evidence.options("cleared_proposal", control="Metadata arrives before the next proposal.")
def main(control: bool, **how: Any) -> None:
    """Try whether metadata that says nothing new lets a leader ack too early."""
    evidence.settle(
        partial(run, control=control),
        "one-controller",
        SETTINGS,
        REASONS,
        guests=(PRODUCER, ADMIN),
        shown="an acked record was lost",
        otherwise="no acked record was lost",
        **how,
    )


if __name__ == "__main__":
    main()
