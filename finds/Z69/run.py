"""Z69 on a real cluster: metadata clears a proposal that is on its way, and an ack comes too early.

See README.md for the story, the settings and the control.

With `--how snapshot` (Z126) that record never arrives: it is held up until the metadata log was
cut, and A loads a snapshot, which says the same.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.evidence import Settings
from experiments.tools import ADMIN, Partition, until
from finds.Z125.run import LOADED, SHORT, segments
from kraftcheck.kafka.live.clients import Setting, connected
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.facts import Move
from kraftcheck.kafka.live.interpose import ALTER_PARTITION, FETCH, Interposer
from kraftcheck.reference.clients.promises import Configuration

A, F, G, CONTROLLER = "b1", "b2", "b3", "c1"
LAG_SECONDS = 8
PATIENT = {"request.timeout.ms": 120_000, "message.timeout.ms": 120_000}
"""So that a producer does not send again what is not acked for a while."""
RECORD, SNAPSHOT = "record", "snapshot"
HELD_S = {RECORD: 60, SNAPSHOT: 600}
"""For how long what is held up is waited for."""
CUT_S = 240


def settings(how: str) -> Settings:
    return {
        "a quick run": {"replica.lag.time.max.ms": str(LAG_SECONDS * 1000)},
        "what is held up is not asked for anew": {
            "replica.socket.timeout.ms": "3000",
            "controller.quorum.request.timeout.ms": str(HELD_S[how] * 1000),
        },
        "the leader moves when the script says so": {"auto.leader.rebalance.enable": "false"},
        **(SHORT if how == SNAPSHOT else {}),
    }


def run(cluster: Cluster, folder: Path, how: str, control: bool) -> bool:
    """Whether a record was acked and then lost."""
    between = Interposer(cluster, A, cluster.node(CONTROLLER).quorum_listener)
    partition = Partition(cluster, ADMIN, ADMIN, (A, G, F))
    cluster.kill(A)
    cluster.start(A)  # its connections go through the interposer now
    partition.create(asking=F)
    with (
        evidence.scene(cluster, folder, Configuration(one_client=False)) as scene,
        ThreadPoolExecutor(1) as meanwhile,
    ):
        scene.journal.moment("start-partition", A)
        for follower in (F, G):
            cluster.cut(A, follower)
        sent(scene, "1")
        partition.await_isr({A}, asking=F)
        partition.say("F and G are out of the ISR")
        between.hold_answers(FETCH)
        known = segments(cluster)[-1]
        time.sleep(2)  # what A is answered now says nothing of F
        cluster.heal(A, F)
        partition.await_isr({A, F}, asking=F)
        time.sleep(3)
        partition.say("F has joined; A has not read so")
        if control:
            release_held(cluster, between, how, known)
            between.hold_answers(FETCH)
        between.hold_requests(ALTER_PARTITION)
        cluster.heal(A, G)
        if not between.held.wait(30):
            raise ClusterError("A did not propose to add G")
        cluster.cut(A, G)
        partition.say("G has everything; its joining is proposed")
        if control:
            between.let_go(FETCH)
            time.sleep(3)
        else:
            release_held(cluster, between, how, known)
        partition.say("A has read that F has joined")
        producing = meanwhile.submit(sent, scene, "all")
        time.sleep(LAG_SECONDS + 2)
        partition.say("a record is produced, and the lag time is over")
        sent(scene, "1")  # makes A try its high watermark
        time.sleep(5)
        early = producing.done()
        partition.say("acked" if early else "not acked: the high watermark waits for G")
        between.let_go(ALTER_PARTITION)
        between.hold_requests(ALTER_PARTITION)  # or else A would soon have G removed again
        partition.await_isr({A, F, G}, asking=F)
        scene.kill(A)
        partition.await_leader(G, asking=F)
        partition.say("G has joined, A is killed, G is elected")
        acked = producing.result()
        scene.moves = None if how == RECORD else [Move(0, 0, 1, 3, unclean=False)]
    values = partition.read(F)
    click.echo(f"acked: {acked}; Kafka's consumer reads {values}")
    between.close()
    return early and acked is not None and str(acked) not in values


def release_held(cluster: Cluster, between: Interposer, how: str, known: int) -> None:
    """A hears what was held up, or that it is gone, and of a snapshot.

    known: the last segment of the metadata log of which it may have read something.
    """
    loads = cluster.log(A).count(LOADED)
    if how == SNAPSHOT:
        until(lambda: segments(cluster)[0] > known, "the metadata log is cut", CUT_S)
    between.let_go(FETCH)
    if how == SNAPSHOT:
        until(lambda: cluster.log(A).count(LOADED) > loads, "A loads a snapshot", 60)
    time.sleep(3)


def sent(setting: Setting, acks: str) -> int | None:
    """A new value, if its record was acked.

    Of one that the leader alone acks nothing is promised, so the history does not know its fate.
    """
    process, value = setting.processes.next(), setting.values.next()
    asked = [["send", setting.key(0), value]]
    setting.journal.event(process, "invoke", "send", asked)
    options = {"acks": acks, "enable.idempotence": acks == "all", **PATIENT}
    told = connected(setting, options).send(setting.topic, 0, str(value).encode())
    if told.error is None and acks == "all":
        known = [["send", setting.key(0), [told.offset, value]]]
        setting.journal.event(process, "ok", "send", known)
    else:
        setting.journal.event(process, "info", "send", asked)
    return value if told.error is None else None


main = evidence.experiment(
    run,
    "Try whether metadata that says nothing new lets a leader ack too early.",
    control="Metadata arrives before the next proposal.",
    more=[evidence.choice("--how", HELD_S)],
    settings=settings,
    guests=(ADMIN,),
    shown="an acked record was lost",
    otherwise="no acked record was lost",
)
