"""Z188 on a real cluster: late offsets of an aborted transaction make its producer unusable.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.copying import COPIES, Application
from experiments.tools import ADMIN, CLIENT, OFFSETS, STATES, Partition, size, until
from finds.Z87.run import CONFIGURATION, read
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.interpose import ADD_PARTITIONS_TO_TXN, WRITE_TXN_MARKERS, Interposer

GROUPS, LEADER, TRANSACTIONS = "b1", "b2", "b3"
PART = 5
BROKEN_S = 14
"""For so long, the client's kernel has sent the offsets in vain six times, and waits for 13 s."""
SLOW_S = 2
"""In which a record is sent, and then offsets: while those are under way, the client sends none."""
ARRIVED_S = 2
"""Until offsets of the next transaction are at b1, of which nothing is seen from outside."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the application's producer becomes unusable."""
    asking = Interposer(cluster, GROUPS, cluster.node(TRANSACTIONS).listener)
    ending = Interposer(cluster, TRANSACTIONS, cluster.node(GROUPS).listener)
    partition = Partition(cluster, CLIENT, ADMIN, [LEADER, TRANSACTIONS])
    create(partition)
    with (
        evidence.scene(cluster, folder, CONFIGURATION, also=[COPIES]) as scene,
        ThreadPoolExecutor(1) as beside,
    ):
        with Application(cluster, scene, "m", "consumer", CLIENT) as m:
            read(scene, m, PART)
            partition.elect([TRANSACTIONS, LEADER], asking=[LEADER], topic=STATES)
            partition.elect([GROUPS, LEADER], asking=[LEADER], topic=OFFSETS)
            told = [m.copy()]
            partition.say("the first transaction is committed")
            read(scene, m, PART)
            time.sleep(2)  # its markers are written
            asking.hold_answers(ADD_PARTITIONS_TO_TXN)
            ending.hold_requests(WRITE_TXN_MARKERS)
            scene.cut_off(GROUPS, CLIENT)
            cluster.pause(LEADER)
            late = beside.submit(m.at_once, heavy=True)
            time.sleep(SLOW_S)
            cluster.resume(LEADER)
            time.sleep(BROKEN_S - SLOW_S)
            scene.heal()
            until(asking.answered.is_set, "the transaction's coordinator is asked of its offsets")
            partition.say("b3 counts b1's partition in; its answer is held up")
            told.append(late.result())
            until(ending.held.is_set, "its marker is on its way")
            partition.say(f"its producer was told {told[-1]}, and has aborted")
            before = size(cluster, GROUPS, OFFSETS)
            if not control:
                next_ones = beside.submit(m.at_once)
                time.sleep(ARRIVED_S)
            asking.hold_requests(ADD_PARTITIONS_TO_TXN)
            asking.let_answers_go(ADD_PARTITIONS_TO_TXN)
            until(lambda: size(cluster, GROUPS, OFFSETS) > before, "the late offsets are appended")
            if control:
                next_ones = beside.submit(m.at_once)
            until(asking.held.is_set, "b1 asks about the next ones")
            partition.say("the late offsets are appended; b1 asks about the next ones")
            before, states = size(cluster, GROUPS, OFFSETS), size(cluster, TRANSACTIONS, STATES)
            ending.let_go(WRITE_TXN_MARKERS)
            until(lambda: size(cluster, GROUPS, OFFSETS) > before, "the marker is written")
            until(lambda: size(cluster, TRANSACTIONS, STATES) > states, "the transaction is over")
            time.sleep(1)  # that is committed as well
            asking.let_go(ADD_PARTITIONS_TO_TXN)
            told.append(next_ones.result())
            unusable = not m.usable
            partition.say(f"its producer is told: {told[-1] or 'nothing of an error'}")
            if not unusable:
                told.append(m.commit())
        with Application(cluster, scene, "m", "consumer", CLIENT) as again:
            again.poll("poll 20000")
            partition.say(f"started anew, it is given {[value for *_, value in again.read]}")
            if again.read:
                told.append(again.copy())
    for line in partition.dump(GROUPS, "*.log", "--offsets-decoder", topic=OFFSETS):
        if "producerEpoch" in line and "producerEpoch: -1" not in line:
            click.echo(f"         {' '.join(line.split())[:200]}")
    copied = partition.read(LEADER, "read_committed", COPIES)
    click.echo(f"{2 * PART} records; {len(copied)} copies: {' '.join(copied)}")
    asking.close()
    ending.close()
    return unusable


def create(partition: Partition) -> None:
    """The topic that is read, and the one that is written, which refuses what is large."""
    partition.create(asking=LEADER, min_insync=1)
    words = ("--create", "--topic", COPIES, "--replica-assignment", "2:3")
    configs = ("--config", "min.insync.replicas=1", "--config", "max.message.bytes=1000")
    partition.ask("TopicCommand", LEADER, *words, *configs)


main = evidence.experiment(
    run,
    "Try whether late offsets of an aborted transaction make its producer unusable.",
    control="The next ones come to b1 after the late ones.",
    settings=evidence.QUICK_START,
    reasons=("topic max.message.bytes=1000: a small record is refused",),
    guests=(CLIENT, ADMIN),
    shown="a producer that did nothing wrong is unusable",
    otherwise="it goes on",
)
