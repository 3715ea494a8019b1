"""Z222 on a real cluster: a replica keeps what was never committed, and leads with it.

See README.md for the story, the settings and the control.

--unforced N: under a producer without rest (acks=all, eight keys) b1 is killed while it leads, N
times. Each time another replica is replaced while it is down, once a cleaner has come by; the new
one leads when b1 comes back. What b1 alone has is as it comes.
"""

from __future__ import annotations

import re
import shutil
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Event

import click
from confluent_kafka import Producer

from experiments import evidence
from experiments.tools import TOPIC, Partition, until
from kraftcheck.kafka.live.clients import POLL_S, Setting, opened
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.datalog import CHECKPOINT, epochs_in
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

B1, B2, B3, B4 = HOSTS = ("b1", "b2", "b3", "b4")
CONFIGURATION = Configuration(one_client=False, goes_back=True, compaction="keyed")
KEYS = 8
ALONE = ("k0", f"k{KEYS}")
"""The keys of what b1 alone has."""
CRASH = "crash"
ROLL_S = 1.5
ANSWERED_S = 1
"""A fetch is answered after half a second, so that none is under way then."""
COMPACTED = ("cleanup.policy=compact", "segment.ms=1000", "min.cleanable.dirty.ratio=0.01")
REASONS = (
    "topic cleanup.policy=compact: what it is about",
    "topic segment.ms=1000, min.cleanable.dirty.ratio=0.01: the cleaner comes soon, not in a week",
)
CLEANED_S = 150
"""The cleaner begins half a minute after a broker, and looks every 15 s."""


class Keyed:
    """Clients of keyed records: values are pairs in the history, "KEY VALUE" in the log."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._key = setting.key(0)

    def producer(self, acks: str) -> Producer:
        settings = {**SILENT, "bootstrap.servers": self._setting.bootstrap, "acks": acks}
        return Producer({**settings, "enable.idempotence": acks == "all"}, logger=MUTE)

    def write(self, producer: Producer, key: str, *, promised: bool = True) -> int:
        """One record, a batch of its own.

        promised: whether its ack says that it will last; one of a single broker does not, so the
        history says that nobody knows. Returns its offset.

        Raises ClusterError: it is not acked.
        """
        process, value = self._setting.processes.next(), self._setting.values.next()
        event = self._setting.journal.event
        event(process, "invoke", "send", [["send", self._key, [key, value]]])
        told: list[int | None] = []
        producer.produce(
            *(TOPIC, f"{key} {value}", key, 0),
            on_delivery=lambda error, message: told.append(None if error else message.offset()),
        )
        producer.flush(60)
        if not told or told[0] is None:
            raise ClusterError(f"{key} was not acked")
        if promised:
            event(process, "ok", "send", [["send", self._key, [told[0], [key, value]]]])
        else:
            event(process, "info", "send", [["send", self._key, [key, value]]], error="acks=1")
        return told[0]

    def read(self) -> dict[str, tuple[int, int]]:
        """From the beginning to the end. Returns offset and value of the last record of each key.

        Raises ClusterError: it does not come to the end.
        """
        journal, process = self._setting.journal, self._setting.processes.next()
        reader = opened(self._setting, f"read-{process}", {})
        last: dict[str, tuple[int, int]] = {}
        for kind in ("invoke", "ok"):
            journal.event(process, kind, "assign", [self._key], **{"seek-to-beginning?": True})
        reader.assign(TOPIC, 1)
        end, deadline = reader.end(TOPIC, 0, 30), time.monotonic() + 60
        while reader.positions().get(0, -1) < end:
            if time.monotonic() > deadline:
                raise ClusterError(f"a consumer did not come to offset {end}")
            journal.event(process, "invoke", "poll", [["poll"]])
            shown = []
            for record in reader.poll(POLL_S):
                key, _, value = record.value.decode().partition(" ")
                shown.append([record.offset, [key, int(value)]])
                last[key] = record.offset, int(value)
            stands = [dict.fromkeys([self._key], *reader.positions().values())]
            given = {self._key: shown} if shown else {}
            journal.event(process, "ok", "poll", [["poll", given]], to=stands)
        reader.close()
        return last


def run(cluster: Cluster, folder: Path, control: bool, how: str) -> bool:
    """Whether the last value of a key is one that was never committed."""
    partition = Partition(cluster, B2, B2, HOSTS)
    with Journal(folder / HISTORY) as journal:
        keyed = Keyed(Setting(journal, cluster.bootstrap, TOPIC, 1))

        def stop(host: str) -> None:
            journal.moment("start-stop", host)
            cluster.stop(host)

        def start(host: str, after: str = "stop") -> None:
            cluster.start(host)
            journal.moment(f"stop-{after}", host)

        Partition(cluster, B1, B1, (B1, B2, B3)).create(config=COMPACTED)
        writer = keyed.producer("all")
        for number in range(KEYS):
            keyed.write(writer, f"k{number}")
        hasty = keyed.producer("1")
        if how == CRASH:
            for host in (B2, B3):
                cluster.pause(host)
            time.sleep(ANSWERED_S)
            at = [keyed.write(hasty, key, promised=False) for key in ALONE]
            journal.moment("start-kill", B1)
            cluster.kill(B1)
            for host in (B2, B3):
                cluster.resume(host)
        else:
            stop(B2)
            stop(B3)
            partition.await_isr({B1}, asking=B1)
            at = [keyed.write(hasty, key, promised=False) for key in ALONE]
            stop(B1)
            start(B3)
            start(B2)
        partition.say(f"b1 alone has offsets {at}")
        partition.say(partition.await_isr({B2, B3}, asking=B3))
        until_cleaned(partition, cluster, keyed, writer, at[-1])
        first = B2 if control else B4
        order = (B2, B1, B4) if control else (B4, B1, B2)
        partition.reassign(order, asking=B2)
        await_in_isr(partition, B4)
        partition.elect(order, asking=[B2, B4])
        partition.say(partition.await_leader(first, asking=first))
        keyed.write(writer, "k2")
        before = keyed.read()
        print_epochs(cluster, "before b1 is back")
        start(B1, "kill" if how == CRASH else "stop")
        partition.await_isr({B1, B2, B4}, asking=first)
        keyed.write(writer, "k2")
        partition.elect((B1, B4, B2), asking=[B2, B4])
        partition.say(partition.await_leader(B1, asking=B1))
        keyed.write(writer, "k2")
        after = keyed.read()
        print_epochs(cluster, "b1 leads")
    record(cluster, folder)
    for host in (B4, B1):
        cluster.stop(host)
        keep(cluster, host, folder / host)
    for key in ALONE:
        was, now = before.get(key, "nothing"), after.get(key, "nothing")
        click.echo(f"{key}: from {first}: {was}; from b1: {now} (offset, value)")
    return any(before.get(key) != after.get(key) for key in ALONE)


def loaded(cluster: Cluster, folder: Path, times: int) -> bool:
    """Whether b1 kept anything that nobody else had. See --unforced."""
    partition = Partition(cluster, B2, B2, HOSTS)
    Partition(cluster, B1, B1, (B1, B2, B3)).create(config=COMPACTED)
    ended, kept = Event(), 0
    with ThreadPoolExecutor(1) as beside:
        writing = beside.submit(write_on, cluster.bootstrap, ended)
        try:
            there, new = B3, B4
            for turn in range(1, times + 1):
                partition.elect((B1, B2, there), asking=[B2])
                partition.await_leader(B1, asking=B1)
                kept += killed(cluster, partition, new, turn)
                there, new = new, there
        finally:
            ended.set()
        click.echo(f"{writing.result()} records; kept by b1 alone: {kept} batches")
    return kept > 0


def write_on(bootstrap: str, ended: Event) -> int:
    """Writes keys in turn until that is set. Returns how many records."""
    producer = Producer({**SILENT, "bootstrap.servers": bootstrap, "linger.ms": 0}, logger=MUTE)
    for number in count():
        key = f"k{number % KEYS}"
        with suppress(BufferError):
            producer.produce(TOPIC, f"{key} {number}", key, 0)
        producer.poll(0.001)
        if ended.is_set():
            producer.flush(30)
            return number
    raise AssertionError


def killed(cluster: Cluster, partition: Partition, new: str, turn: int) -> int:
    """b1 is killed and comes back while `new` leads.

    Returns how many batches it kept that nobody else had. Raises ClusterError.
    """
    cluster.kill(B1)
    partition.await_leader(B2, asking=B2)
    epoch, begins = epochs_of(cluster, B2)[-1]
    alone = {each for each in batches(cluster, B1) if each[0] >= begins}
    last = max([begins, *[base for base, _ in alone]])

    def cleaned() -> bool:
        return not any(begins <= base <= last for base, _ in batches(cluster, B2))

    until(cleaned, "b2's log is cleaned", CLEANED_S)
    order = (new, B1, B2)
    partition.reassign(order, asking=B2)
    await_in_isr(partition, new)
    partition.elect(order, asking=[B2])
    partition.await_leader(new, asking=B2)
    known = dict(epochs_of(cluster, new)).get(epoch)
    cluster.start(B1)
    partition.await_isr(order, asking=B2)
    kept = len(alone & {*batches(cluster, B1)})
    partition.say(
        f"{turn}: b1 alone had {len(alone)} batches, and keeps {kept}; "
        f"epoch {epoch} begins at {begins}, as {new} has it at {known};"
    )
    return kept


def epochs_of(cluster: Cluster, host: str) -> list[tuple[int, int]]:
    return epochs_in(cluster.partition_file(host, f"{TOPIC}-0", CHECKPOINT))


def until_cleaned(
    partition: Partition, cluster: Cluster, keyed: Keyed, writer: Producer, last: int
) -> None:
    """Writes k2 until nothing else is left at the offsets of b1's records.

    Raises ClusterError: it stays.
    """
    deadline = time.monotonic() + CLEANED_S
    for _ in range(last):
        keyed.write(writer, "k2")
    while True:
        keyed.write(writer, "k2")
        bases = [[base for base, _ in batches(cluster, host)] for host in (B3, B2)]
        if all(0 in of and not set(of) & set(range(KEYS, last + 1)) for of in bases):
            partition.say(f"cleaned: batches of b3 at {bases[0]}")
            return
        if time.monotonic() > deadline:
            raise ClusterError(f"not cleaned after {CLEANED_S} s: batches at {bases}")
        time.sleep(ROLL_S)


def batches(cluster: Cluster, host: str) -> list[tuple[int, int]]:
    """First offset and epoch of those on its disk; not of all, while a cleaner exchanges files."""
    found = []
    for file in sorted(cluster.partition_file(host, f"{TOPIC}-0", "").glob("*.log")):
        data, place = file.read_bytes() if file.exists() else b"", 0
        while place + 16 <= len(data):
            base, length, epoch = struct.unpack_from(">qii", data, place)
            found.append((base, epoch))
            place += 12 + length
    return found


def await_in_isr(partition: Partition, host: str) -> None:
    """Raises ClusterError: it is not after a minute."""
    there = re.compile(rf"Isr: [\d,]*{host[1:]}\b")
    until(lambda: there.search(partition.describe(B2)) is not None, f"{host} is in the ISR", 60)


def record(cluster: Cluster, folder: Path) -> None:
    """Asks again where a cleaner exchanged a file meanwhile."""
    with suppress(ClusterError):
        evidence.write(cluster, folder, CONFIGURATION)
        return
    time.sleep(2 * ROLL_S)
    evidence.write(cluster, folder, CONFIGURATION)


def print_epochs(cluster: Cluster, when: str) -> None:
    """Says what each replica knows of epochs."""
    for host in HOSTS:
        if epochs := epochs_of(cluster, host):
            click.echo(f"         {when}, {host}: epochs (epoch, first offset) {epochs}")


def keep(cluster: Cluster, host: str, folder: Path) -> None:
    """What lies on its disk of the partition, and what is written down beside it."""
    source = cluster.partition_file(host, f"{TOPIC}-0", "")
    shutil.copytree(source, folder / f"{TOPIC}-0", ignore=shutil.ignore_patterns("*.deleted"))
    beside = cluster.partition_file(host, "", "")
    for name in (".kafka_cleanshutdown", "*-checkpoint"):
        for file in beside.glob(name):
            shutil.copy(file, folder)


main = evidence.experiment(
    run,
    "Try whether a replica keeps records that were never committed, and leads with them.",
    control="A replica that was there all along leads when b1 comes back.",
    more=[evidence.choice("--how", ["stops", CRASH], "How b1 comes to have what the others lack.")],
    unforced=(loaded, "b1 is killed so often, under load."),
    layout="spare",
    reasons=REASONS,
    shown="the last value of a key is one that was never committed",
    otherwise="the last value of each key is the committed one",
)
