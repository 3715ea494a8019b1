"""Z140 on a real cluster: consumers of committed records are shown aborted ones.

See README.md for the story, the settings and the control.

--unforced N: producers write transactions of two or three records of 20 kB and abort a fifth; the
follower is stopped and started N times. Then its index is compared with the leader's. --load busy:
four of them, as fast as they can; even: two, which rest for a tenth of a second in between; uneven:
one that does not rest, and one that rests for a second. In the end it leads and is read from.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Producer

from experiments import evidence
from experiments.tools import HOSTS, TOPIC, Partition
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT, Confluent, ConfluentSender
from kraftcheck.kafka.live.crew import Crew
from kraftcheck.kafka.live.library import Options
from kraftcheck.kafka.live.workloads import transact
from kraftcheck.reference.clients.promises import Configuration

LEADER, HEIR, THIRD = HOSTS
SETTINGS = {
    **evidence.QUICK_START,
    "the leader moves when the script says so": {"auto.leader.rebalance.enable": "false"},
}
CONFIGURATION = Configuration(
    transactions=True, isolation="read_committed", one_client=False, goes_back=True
)
KEY_OF_20_KB = b"x" * 20_000
SECONDS = 60.0
ABORTS = 0.2
LOADS = {"uneven": (0.0, 1.0), "busy": (0.0, 0.0, 0.0, 0.0), "even": (0.1, 0.1)}
"""Of --unforced: how long each of its producers rests after a transaction."""
KEY = "t-0"


class Keyed:
    """A producer of records with large keys."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer

    def produce(self, topic: str, **more: Any) -> None:
        self._producer.produce(topic, key=KEY_OF_20_KB, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._producer, name)


class Large(Confluent):
    """The library, with large keys (values are numbers, in histories)."""

    def sender(self, bootstrap: str, options: Options) -> ConfluentSender:
        sender = super().sender(bootstrap, options)
        sender._producer = Keyed(sender._producer)  # type: ignore[assignment]  # stands in
        return sender


class Writer:
    """A transactional producer that writes a batch at a time, and what it was told."""

    def __init__(self, setting: Setting, name: str) -> None:
        self._setting = setting
        settings = {**SILENT, "bootstrap.servers": setting.bootstrap, "transactional.id": name}
        self._producer = Producer(settings, logger=MUTE)
        self._producer.init_transactions(SECONDS)
        self._process = setting.processes.next()
        self._offsets: dict[int, int] = {}

    def begin(self, sizes: list[int]) -> None:
        """Writes records with keys of these sizes (values are numbers, in histories)."""
        self._offsets = {}
        values = [self._setting.values.next() for _ in sizes]
        asked = [["send", KEY, value] for value in values]
        self._setting.journal.event(self._process, "invoke", "txn", asked)
        self._producer.begin_transaction()
        for value, size in zip(values, sizes, strict=True):
            write(self._producer, value, size, self._offsets)

    def end(self, commit: bool) -> None:
        (self._producer.commit_transaction if commit else self._producer.abort_transaction)(SECONDS)
        told = [
            ["send", KEY, [offset, value] if commit else value]
            for value, offset in self._offsets.items()
        ]
        self._setting.journal.event(self._process, "ok" if commit else "fail", "txn", told)


def write(producer: Producer, value: int, size: int, offsets: dict[int, int]) -> None:
    """One record, as a batch; notes its offset."""

    def note(error: object, message: object) -> None:
        if error is None:
            offsets[value] = message.offset()  # type: ignore[attr-defined]  # untyped there

    producer.produce(TOPIC, str(value).encode(), b"x" * size, partition=0, on_delivery=note)
    producer.flush(SECONDS)
    if value not in offsets:
        raise ClusterError(f"record {value} was not acknowledged")


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a record was read that was aborted."""
    partition = Partition(cluster, LEADER, LEADER, HOSTS).create()
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        plain = Producer({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
        for _ in range(9):
            process, value = scene.processes.next(), scene.values.next()
            at: dict[int, int] = {}
            scene.journal.event(process, "invoke", "send", [["send", KEY, value]])
            write(plain, value, 100_000, at)
            scene.journal.event(process, "ok", "send", [["send", KEY, [at[value], value]]])
        partition.await_batches(HOSTS, 9)
        p1, p2 = Writer(scene, "p1"), Writer(scene, "p2")
        partition.say("900 kB on every replica")
        if not control:
            scene.stop(HEIR)
        p1.begin([10])
        p1.end(commit=False)
        p1.begin([60_000] * 4)
        p2.begin([10])
        p1.end(commit=False)
        p2.end(commit=True)
        partition.await_batches((LEADER, THIRD), 18)
        partition.say("p1 aborted twice, p2 committed")
        if not control:
            scene.start(HEIR)
        partition.await_batches(HOSTS, 18)
        partition.await_isr(HOSTS, asking=LEADER)
        before = partition.read(LEADER, "read_committed")
        partition.elect((HEIR, LEADER, THIRD), asking=HOSTS)
        partition.await_leader(HEIR, asking=HEIR)
        partition.say(f"{HEIR} has copied everything, and leads")
        for host in (LEADER, HEIR):
            for line in partition.dump(host, "*.txnindex"):
                click.echo(f"         {host}, transaction index: {line}")
        after = partition.read(HEIR, "read_committed")
    click.echo(f"Kafka's consumer, from {LEADER}: {' '.join(before)}")
    click.echo(f"Kafka's consumer, from {HEIR}: {' '.join(after)}")
    return before != after


def compared(cluster: Cluster, folder: Path, times: int, load: str) -> bool:
    """Whether restarts alone leave the follower with entries that are not the leader's."""
    partition = Partition(cluster, LEADER, LEADER, HOSTS).create()
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        crew, busy = Crew(), []
        for at, pace in enumerate(LOADS[load]):
            shared = (scene.processes, ABORTS, Large())
            own = Setting(scene.journal, scene.bootstrap, TOPIC, 1, pace, *shared)
            own.values = scene.values
            busy.append(own)
            crew.start(transact, own, at, {"linger.ms": 0})
        for _ in range(times):
            time.sleep(3)
            cluster.stop(HEIR)
            time.sleep(3)
            cluster.start(HEIR)
            partition.await_isr(HOSTS, asking=LEADER)
        for own in busy:
            own.done.set()
        crew.join(SECONDS)
        partition.await_batches(HOSTS, partition.batches(LEADER))
        partition.elect((HEIR, LEADER, THIRD), asking=HOSTS)
        partition.await_leader(HEIR, asking=HEIR)
    right, written = (partition.dump(host, "*.txnindex") for host in (LEADER, HEIR))
    wrong = sum(a != b for a, b in zip(right, written, strict=True))
    click.echo(
        f"{times} restarts, {load}, {partition.batches(HEIR)} batches: {wrong} of {len(right)} "
        f"entries of {HEIR} are not those of {LEADER}"
    )
    return wrong > 0


main = evidence.experiment(
    run,
    "Try whether a broker that copied transactions in bulk shows aborted records.",
    control="The follower copies each batch as it comes.",
    more=[evidence.choice("--load", LOADS)],
    unforced=(compared, "Restarts under transactional load."),
    settings=SETTINGS,
    shown="aborted records were read",
    otherwise="no aborted record was read",
)
