"""Z67 on a real cluster: an acked record is lost by a leader that missed another leader.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import Partition
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.reference.clients.promises import Configuration

A, F, G, CONTROLLER = "b1", "b2", "b3", "c1"
PRODUCER, ADMIN = "producer", "admin"
CONFIGURATION = Configuration(one_client=False)
SETTINGS = {
    "nobody is fenced or leaves the ISR while links are cut": {
        "broker.session.timeout.ms": "600000",
        "replica.lag.time.max.ms": "600000",
        "replica.socket.timeout.ms": "3000",
    },
    "the leader moves when the script says so": {"auto.leader.rebalance.enable": "false"},
}


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the record was acked and then lost."""
    partition = Partition(cluster, PRODUCER, ADMIN, (A, F, G))

    def hear(what: str) -> None:
        cluster.heal(A, CONTROLLER)
        time.sleep(8)
        partition.say(what)

    cluster.cut(ADMIN, A)  # commands must not depend on A
    partition.create(asking=F)
    partition.say("topic created, A leads")
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        process, value = scene.processes.next(), 0  # the first value of VerifiableProducer
        scene.journal.moment("start-partition", A)
        cluster.cut(A, F)
        scene.journal.event(process, "invoke", "send", [["send", "t-0", value]])
        producer = partition.produce(A, acks=-1)
        time.sleep(6)
        partition.say("F cut from A, record produced to A, not acked")
        cluster.cut(A, CONTROLLER)
        partition.elect((F, A, G), asking=(F, G))
        partition.say("A cut from the controller, F elected")
        if control:
            hear("A has heard of the first election")
        cluster.cut(A, G)
        partition.elect((A, F, G), asking=(F, G))
        partition.say("G cut from A, A elected again")
        if not control:
            hear("A has heard of both elections")
        cluster.heal(A, F)
        acked = partition.await_acked(producer)
        for each in acked:
            sent = [["send", "t-0", [each.offset, each.value]]]
            scene.journal.event(process, "ok", "send", sent)
        said = f"acked: offset {acked[0].offset}" if acked else "not acked"
        partition.say(f"F reaches A; {said}")
        scene.kill(A)
        partition.elect((G, F, A), asking=(F, G))
        time.sleep(3)
        partition.say("A killed, G elected from the ISR")
    values = partition.read(G)
    click.echo(f"a consumer reads {len(values)} records")
    return bool(acked) and not values


main = evidence.experiment(
    run,
    "Try whether a leader that missed another leader acks what it should not.",
    control="A hears of each election when it happens.",
    settings=SETTINGS,
    guests=(PRODUCER, ADMIN),
    shown="an acked record was lost",
    otherwise="no acked record was lost",
)
