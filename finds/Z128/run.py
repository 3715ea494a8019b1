"""Z128 on a real cluster: a controller that has led for a moment forgets a record.

See README.md for the story, the settings and the control.

With `--how shrink` the record is that b2, which stands still, leaves the ISR of t-0, where two are
left. Ten records are acknowledged without b2. Once X leads again, the leader b1 is stopped by
SIGTERM, and b2 keeps running: X has it in the ISR.

With `--how ids` the record is that a broker is given a block of producer ids, as it needs its first
one. Once X leads again, eight idempotent producers send a record each: for X that block is free.
Nothing is stopped but what X needs in order to lead twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError as Late
from functools import partial
from pathlib import Path

import click
import msgspec
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from experiments import evidence
from experiments.controllers import VOTERS, Quorum
from experiments.evidence import Settings
from experiments.tools import METADATA, TOPIC, Partition, until
from finds.Z69.run import PATIENT
from finds.Z125.run import SHORT
from finds.Z164.run import created
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.facts import Move
from kraftcheck.kafka.live.journal import HISTORY
from kraftcheck.reference.clients.promises import Configuration

GONE = "gone"
LEADER, LATE, OTHER = "b1", "b2", "b3"
DELETION, SHRINK, IDS = "deletion", "shrink", "ids"
BEHIND = {
    DELETION: "REMOVE_TOPIC_RECORD",
    SHRINK: "PARTITION_CHANGE_RECORD",
    IDS: "PRODUCER_IDS_RECORD",
}
"""By what is tried, the record behind the snapshot."""
RECORDS, PRODUCERS = 10, 8
CONFIGURATION = Configuration(one_client=False, min_insync_replicas=2)
GREETING = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "message.timeout.ms": 30_000}
IDLE = {"nothing is written": {"metadata.max.idle.interval.ms": "0"}}
SETTINGS = {
    **SHORT,
    "no broker is fenced while leaders stand still": {"broker.session.timeout.ms": "600000"},
}
ACTIVE = "Becoming the active controller at epoch"
REFUSED = "TOPIC_ALREADY_EXISTS"
FAULT = re.compile(r"Encountered (\S.* fault: .*)")
"""As a node says it, and ends if it is fatal (ProcessTerminatingFaultHandler)."""
HANDED = "Stopped fetchers as part of controlled shutdown"
SHRUNK = re.compile(r"Shrinking ISR from [\d,]+ to ([\d,]+)")
REST_S, HEARD_S, ROUNDS, ENDS_S = 8.0, 4.0, 12, 20.0
"""Longer than metadata.log.max.snapshot.interval.ms; until a controller that stood still has heard
who leads; how often one is had to stand still until X leads; within which one ends, or ends again
once it is started."""


def run(cluster: Cluster, folder: Path, how: str, control: bool) -> bool:
    """Whether a topic that is not there is refused as one that is, or records are lost."""
    quorum = Quorum(cluster)
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
    partition = Partition(cluster, LEADER, LEADER, (LEADER, LATE, OTHER))
    if how in (SHRINK, IDS):
        partition.create(asking=LEADER)
    else:
        for name in (TOPIC, GONE):
            make(admin, name)
    x, last = left_behind(cluster, quorum, admin, control)
    end = int(last.partition("-")[0])

    def forget() -> None:
        if not control:  # while it is there: the log is cut again soon
            first = told_of(cluster, x, end)[:1]
            if not any(BEHIND[how] in said for said in first):
                raise ClusterError("something was committed between the snapshot and this")
        forgets(cluster, quorum, x)

    if how == SHRINK:
        found = shrunk(cluster, folder, partition, forget)
    elif how == IDS:
        found = given_twice(cluster, folder, partition, forget)
    else:
        found = deleted(cluster, x, admin, forget)
        if found:
            told_of(cluster, x, end)
    for name in VOTERS:
        cluster.keep_logs(name, METADATA[:-2], folder / name)
    return found


def left_behind(
    cluster: Cluster, quorum: Quorum, admin: AdminClient, control: bool
) -> tuple[str, str]:
    """X stands still until it needs a snapshot. Returns X, and the snapshot that it has loaded."""
    leader = quorum.leader(VOTERS)
    x = next(name for name in VOTERS if name != leader)
    cluster.pause(x)
    known = segments(cluster, leader)[-1]
    value = iter(range(10**8, 10**9))

    def cut() -> bool:
        change(admin, next(value))
        return segments(cluster, leader)[0] > known

    until(cut, "the metadata log is cut", 240)
    before = snapshot(cluster, leader)
    time.sleep(REST_S)  # the next record makes a snapshot, which ends with it
    change(admin, next(value))
    until(lambda: snapshot(cluster, leader) > before, "a last snapshot is made", 60)
    last = snapshot(cluster, leader)
    loaded = f"Successfully loaded snapshot {last}"
    cluster.resume(x)
    if control:
        loaded = "Successfully loaded snapshot"
    until(lambda: loaded in cluster.log(x), f"{x} loads {last}", 60)
    say(f"{x} has loaded {last}")
    return x, last


def forgets(cluster: Cluster, quorum: Quorum, x: str) -> None:
    """X leads, is deposed, and leads again."""
    led(cluster, quorum, x)
    cluster.pause(x)
    quorum.leader([name for name in VOTERS if name != x], above=quorum.epoch(x))
    cluster.resume(x)
    time.sleep(HEARD_S)
    say(f"{x} has led, and was deposed")
    led(cluster, quorum, x)


def deleted(cluster: Cluster, x: str, admin: AdminClient, forget: Callable[[], None]) -> bool:
    """Whether the topic that X forgets to be deleted is refused."""
    [deleting] = admin.delete_topics([GONE]).values()
    deleting.result(30)
    time.sleep(2)
    say("the topic is deleted")
    forget()
    topics = sorted(admin.list_topics(timeout=30).topics)
    try:
        told = make(admin, GONE)
    except KafkaException as error:
        told = error.args[0].name()
    say(f"{x} leads; topics: {', '.join(topics)}; {GONE} is to be made: {told}")
    if told == REFUSED:
        deleted_again(cluster, admin)
    return GONE not in topics and told == REFUSED


def shrunk(
    cluster: Cluster, folder: Path, partition: Partition, forget: Callable[[], None]
) -> bool:
    """Say whether records are lost that the broker outside X's idea of the ISR never had.

    They were acknowledged without the broker that X takes for one of the ISR.
    """
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        greet(scene, {})
        scene.pause(LATE)
        greet(scene, PATIENT, RECORDS)  # the first waits until b2 is out
        left = SHRUNK.findall(cluster.log(LEADER))
        partition.say(f"{RECORDS} records are acknowledged; ISR {' '.join(left)}")
        if len(left) != 1:
            raise ClusterError(f"{LATE} did not leave the ISR")
        forget()
        scene.journal.moment("start-stop", LEADER)
        with ThreadPoolExecutor(1) as meanwhile:
            stopping = meanwhile.submit(cluster.stop, LEADER)
            until(lambda: HANDED in cluster.log(LEADER), f"{LEADER} leads no more", 20)
            cluster.resume(LATE)  # without whom the controller does not let it go
            stopping.result()
        scene.journal.moment("stop-pause", LATE)
        time.sleep(HEARD_S)
        said = partition.describe(OTHER)
        partition.say(f"{LEADER} is stopped: {said[-60:]}")
        found = re.search(r"Leader: (\d+)", said)
        if found is None:
            raise ClusterError(f"nobody leads: {said}")
        scene.moves = [Move(0, 0, 1, int(found[1]), unclean=False)]
    values = partition.read(OTHER)
    say(f"acknowledged: {RECORDS + 1}; Kafka's consumer reads {len(values)}")
    return len(values) < RECORDS + 1


def given_twice(
    cluster: Cluster, folder: Path, partition: Partition, forget: Callable[[], None]
) -> bool:
    """Say whether acknowledged records are lost because a producer id was given twice.

    They are taken for records of the other producer with the id.
    """
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        scene.moves = []
        greet(scene, GREETING)
        time.sleep(2)
        forget()
        for _ in range(PRODUCERS):
            greet(scene, GREETING)
    acked = [
        event["value"][0][2]
        for event in map(msgspec.json.decode, (folder / HISTORY).read_bytes().splitlines())
        if event["f"] == "send" and event["type"] == "ok"
    ]
    values = partition.read(LEADER)
    say(f"offsets and values that were acknowledged: {acked}; Kafka's consumer reads {values}")
    ended(cluster)
    return len(values) < len(acked)


def deleted_again(cluster: Cluster, admin: AdminClient) -> None:
    """Prints what comes of it, if who is told that the topic is there has it deleted."""
    [deleting] = admin.delete_topics([GONE], request_timeout=ENDS_S).values()
    try:
        deleting.result(2 * ENDS_S)
        told = "done"
    except KafkaException as error:
        told = error.args[0].name()
    except Late:
        told = "no answer"
    say(f"{GONE} is deleted once more: {told}")
    ended(cluster)


def ended(cluster: Cluster) -> None:
    """Prints which controllers have ended, and end again once they are started."""
    for start in (True, False):
        time.sleep(ENDS_S)
        over = [name for name in VOTERS if not cluster.is_running(name)]
        say(f"of the controllers, {len(over)} of {len(VOTERS)} have ended")
        for name in over:
            say(f"{name}: {'; '.join(dict.fromkeys(FAULT.findall(cluster.log(name))))[:300]}")
            if start:
                cluster.start(name, wait=False)
    say(f"another topic is asked for: {created(cluster, 'another')}")


def snapshot(cluster: Cluster, name: str) -> str:
    """The last one that it has, as its file is named."""
    return max(f.stem for f in cluster.partition_file(name, METADATA, "").glob("*.checkpoint"))


def told_of(cluster: Cluster, name: str, end: int) -> list[str]:
    """Prints and returns what its metadata log has behind the snapshot."""
    behind = []
    words = ("*.log", "--cluster-metadata-decoder")
    for line in Partition(cluster, name, name, ()).dump(name, *words, topic=METADATA[:-2]):
        found = re.search(
            r"offset: (\d+).*?(?:payload: |endType|controlType|LeaderChange)(.*)", line
        )
        if found and int(found[1]) >= end:
            behind.append(found[2])
            say(f"at {found[1]}: {found[2][:100]}")
    return behind


def led(cluster: Cluster, quorum: Quorum, x: str) -> None:
    """Pause leaders one after the other, until X leads and has taken up its work.

    It has when its first record is committed, a moment later. Raises ClusterError: it does not.
    """
    for _ in range(ROUNDS):
        leader = quorum.leader(VOTERS)
        if leader == x:
            active = f"{ACTIVE} {quorum.epoch(x)}"
            until(partial(has_logged, cluster, x, active), f"{x} takes up its work", 30)
            return
        cluster.pause(leader)
        others = [name for name in VOTERS if name != leader]
        quorum.leader(others, above=quorum.epoch(leader))
        cluster.resume(leader)
        if quorum.leader(VOTERS) != x:
            time.sleep(HEARD_S)
    raise ClusterError(f"{x} does not lead")


def has_logged(cluster: Cluster, name: str, line: str) -> bool:
    return line in cluster.log(name)


def make(admin: AdminClient, name: str) -> str:
    """Raises KafkaException."""
    [making] = admin.create_topics([NewTopic(name, 1, 1)]).values()
    making.result(60)
    return "made"


def change(admin: AdminClient, value: int) -> None:
    """One record of the metadata."""
    entry = ConfigEntry("retention.ms", str(value), incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[entry])
    [changing] = admin.incremental_alter_configs([resource]).values()
    changing.result(60)
    time.sleep(0.2)


def segments(cluster: Cluster, name: str) -> list[int]:
    """The first offsets of its metadata log's segments."""
    return sorted(int(f.stem) for f in cluster.partition_file(name, METADATA, "").glob("*.log"))


def say(what: str) -> None:
    click.echo(f"         {what}")


def settings(control: bool) -> Settings:
    return SETTINGS if control else {**SETTINGS, **IDLE}


main = evidence.experiment(
    run,
    "Try whether a controller that has led for a moment forgets a record.",
    control="Something is written every half second.",
    more=[evidence.choice("--how", BEHIND)],
    layout="isolated",
    settings=settings,
    shown="a record of the metadata is forgotten",
    otherwise="it is known",
)
