"""Z412 on a real cluster: a share group is given a record again whose acknowledgement succeeded.

docs/reference/shares.md says what came of it. Three members hold a record each. The broker that
leads the log of the share coordinator is paused, and the acknowledgement of the last record waits
for it, while the coordinator moves and stores those of the first two. The late write then sets the
stored start offset back, before the first record, of which nothing is stored any more.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import msgspec
from confluent_kafka.admin import AdminClient

from experiments import evidence
from experiments.tools import HOSTS, OFFSETS, TOPIC, Partition, until
from kraftcheck.kafka.live.clients import Setting, greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.java_client import Java
from kraftcheck.kafka.live.journal import HISTORY
from kraftcheck.kafka.live.sharers import Member
from kraftcheck.reference.clients.promises import Configuration

GROUP, STATES = "g", "__share_group_state"
LEADER, COORDINATOR, NEXT = HOSTS
CONFIGURATION = Configuration(consumers="share", one_client=False, reset="earliest")
SETTINGS = {
    "a quick start": {
        "offsets.topic.num.partitions": "1",
        "share.coordinator.state.topic.num.partitions": "1",
    }
}
ONE = {"max.poll.records": "1", "share.acquire.mode": "record_limit"}
PATIENCE_S = 60.0
POLLS = 40


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group is given a record again."""
    topic = Partition(cluster, NEXT, NEXT, HOSTS).create(asking=NEXT)
    with (
        evidence.scene(cluster, folder, CONFIGURATION, library=Java()) as scene,
        ThreadPoolExecutor() as threads,
    ):
        coordinate(cluster, topic, scene)
        greet(scene, {}, 3)
        members = [taken(scene) for _ in range(3)]
        topic.say("three members hold a record each")
        scene.pause(COORDINATOR)
        late = None if control else threads.submit(members[2].commit)
        await_leader(cluster, NEXT, STATES)
        topic.say(f"{COORDINATOR} stands still, {NEXT} leads {STATES}")
        for each in members[: 3 if control else 2]:
            each.commit()
        topic.say(f"the first {3 if control else 2} are acknowledged")
        scene.resume(COORDINATOR)
        if late is not None:
            late.result(PATIENCE_S)
            topic.say(f"{COORDINATOR} continues, and the third acknowledgement succeeds")
        topic.await_isr(HOSTS, asking=NEXT)
        scene.kill(LEADER)
        others = ("", LEADER)
        until(lambda: leader_of(cluster, TOPIC) not in others, "another broker leads", PATIENCE_S)
        topic.say(f"{LEADER} was killed, {leader_of(cluster, TOPIC)} leads")
        again = Member(scene, GROUP, ONE, explicit=True)
        for _ in range(POLLS):
            again.poll()
            again.commit()
        again.leave()
    return is_redelivered(topic, folder)


def coordinate(cluster: Cluster, topic: Partition, scene: evidence.Scene) -> None:
    """Have a first member create the coordinators' logs, and COORDINATOR lead that of states."""
    greet(scene, {})
    first = taken(scene)
    first.commit()
    first.leave()
    for of, order in {OFFSETS: HOSTS[::-1], STATES: (COORDINATOR, NEXT, LEADER)}.items():
        topic.elect(order, asking=HOSTS, topic=of)
        await_leader(cluster, order[0], of)


def await_leader(cluster: Cluster, host: str, of: str) -> None:
    until(lambda: leader_of(cluster, of) == host, f"{host} leads {of}", PATIENCE_S)


def leader_of(cluster: Cluster, topic: str) -> str:
    """As NEXT knows it: Kafka's own command may ask a broker that stands still."""
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.node(NEXT).listener}, logger=MUTE)
    number = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions[0].leader
    return HOSTS[number - 1] if number > 0 else ""


def taken(scene: Setting, *, explicit: bool = True) -> Member:
    """A member that holds the next record."""
    found = Member(scene, GROUP, ONE, explicit=explicit)
    take(found)
    return found


def take(member: Member) -> None:
    until(lambda: member.poll() > 0, "a member is given a record", PATIENCE_S)


def is_redelivered(topic: Partition, folder: Path) -> bool:
    """Whether members were given records whose acknowledgement had succeeded; print these."""
    done: set[int] = set()
    found: list[int] = []
    for event in map(msgspec.json.decode, (folder / HISTORY).read_bytes().splitlines()):
        if event["type"] != "ok" or event["f"] not in ("acknowledge", "share-poll"):
            continue
        _, value = event["value"]
        if event["f"] == "acknowledge":
            done.update(offset for _, offset, _ in value)
        else:
            shown = (offset for records in value.values() for offset, *_ in records)
            found += (offset for offset in shown if offset in done)
    topic.say(f"acknowledged, and given again: {found or 'nothing'}")
    return bool(found)


def experiment(run: evidence.Run, says: str, control: str) -> click.Command:
    """The command of a script that tries whether an acknowledged record is given again."""
    return evidence.experiment(
        run,
        says,
        control=control,
        settings=SETTINGS,
        reasons=["consumers: one record for each poll (max.poll.records=1, share.acquire.mode)"],
        shown="the share group is given an acknowledged record again",
        otherwise="the share group is given no acknowledged record again",
    )


main = experiment(
    run,
    "Check whether a share group is given a record again after a late write of its state.",
    "The third member acknowledges after the others.",
)
