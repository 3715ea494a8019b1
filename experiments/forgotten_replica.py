"""On a real cluster: who leads once a replica was unregistered while it was down?

    .venv/bin/python -m experiments.forgotten_replica [--control] [--repeat N]

TLC found it with the correct rules (`reach-moving-forgotten-lost`): to unregister a broker is to
say that it is lost, though its disk is there.

1. b1 and b2 hold the topic, min.insync.replicas is 2. Ten records are acknowledged by both.
2. b2 is stopped, cleanly: ISR b1, ELR b2. An operator unregisters it (`kafka-cluster.sh
   unregister`).
3. The power of b1 is cut, which loses what was not flushed: all of the topic. It is started again,
   and leads nothing, as b2 is eligible (KIP-966).
4. b2 is started again. Nobody knows of its clean stop any more, so that it is not eligible either,
   and b1, the last leader, is elected. b2 cuts its log to b1's.

The control: b2 is not unregistered, all else is the same. It is elected.

All settings are Kafka's own.
"""

from __future__ import annotations

from pathlib import Path

import click

from experiments import evidence
from experiments.stale_eligible import elected
from experiments.tools import TOOLS, TOPIC, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.reference.clients.promises import Configuration

FIRST, SECOND, ASKED = "b1", "b2", "b3"
CONFIGURATION = Configuration(
    one_client=False, goes_back=True, isolation="read_committed", replication_factor=2
)
RECORDS = 10


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether acknowledged records are gone."""
    partition = Partition(cluster, ASKED, ASKED, (FIRST, SECOND))
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        partition.create(asking=ASKED)
        greet(scene, {}, RECORDS)
        scene.stop(SECOND)
        described = partition.await_isr({FIRST}, asking=ASKED)
        partition.say(f"{RECORDS} records acked; b2 is stopped")
        click.echo(f"         {described}")
        if not control:
            server = ("--bootstrap-server", cluster.node(ASKED).listener)
            number = str(cluster.node(SECOND).number)
            words = ("unregister", *server, "--id", number)
            said = cluster.run_tool(ASKED, f"{TOOLS}.ClusterTool", *words)
            partition.say(" ".join(said.split())[-60:])
        scene.journal.moment("start-power", FIRST)
        cluster.cut_power(FIRST, [TOPIC])
        partition.say("the power of b1 was cut")
        cluster.start(FIRST)
        scene.journal.moment("stop-power", FIRST)
        partition.say("b1 is started")
        click.echo(f"         {elected(partition, FIRST)}")
        scene.start(SECOND)
        partition.say("b2 is started")
        click.echo(f"         {partition.await_isr({FIRST, SECOND}, asking=ASKED)}")
    for broker in scene.replicas:
        click.echo(f"         on b{broker.broker}: {len(broker.records)} records")
    given = len(partition.read(ASKED))
    click.echo(f"{RECORDS} records acknowledged; Kafka's consumer is given {given}")
    return given < RECORDS


main = evidence.experiment(
    run,
    "Try who leads once a replica was unregistered while it was down.",
    control="It is not unregistered.",
    shown="acknowledged records are gone",
    otherwise="all are there",
)


if __name__ == "__main__":
    main()
