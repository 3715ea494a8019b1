"""Z221 on a real cluster: the offsets of a deleted topic are those of the one that is made anew.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

from confluent_kafka.admin import AdminClient

from experiments import evidence
from experiments.group import NEWEST, joined, tell
from experiments.tools import HOSTS, TOPIC, Partition
from kraftcheck.kafka.live import grouplog
from kraftcheck.kafka.live.clients import Setting, greet, read_all
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.confluent import MUTE, SILENT
from kraftcheck.kafka.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

SETTINGS = {
    "nobody coordinates while a broker is down": {"offsets.topic.replication.factor": "1"},
    **evidence.QUICK_GROUPS,
}
FIRST, SECOND = 10, 20
SECONDS, QUIET_S = 60.0, 20.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group is not given records of the topic that was made anew."""
    with Journal(folder / HISTORY) as journal:
        found = tried(cluster, journal, control)
    configuration = Configuration(consumers="listen", one_client=False, reset="earliest")
    evidence.write(cluster, folder, configuration)
    (folder / grouplog.GROUPS).unlink(missing_ok=True)  # which has one name for both topics
    return found


def tried(cluster: Cluster, journal: Journal, control: bool) -> bool:
    """As `run`. Raises ClusterError: it cannot be tried."""
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap}, logger=MUTE)
    first = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    # The group's log comes to be with its first member, before it is known who leads that.
    first.create(asking=HOSTS[0])
    gone = Setting(journal, cluster.bootstrap, TOPIC, 1)
    greet(gone, {}, FIRST)
    if (given := consume(gone, FIRST)) != FIRST:
        raise ClusterError(f"the group was given {given} records, not {FIRST}")
    first.say(f"{FIRST} records read, and committed")
    metadata = admin.list_topics("__consumer_offsets", timeout=SECONDS)
    leader = metadata.topics["__consumer_offsets"].partitions[0].leader
    host = next(name for name in HOSTS if cluster.node(name).number == leader)
    others = [name for name in HOSTS if name != host]
    if not control:
        cluster.stop(host)
        first.say(f"{host}, which coordinates the group, is stopped")
    [deleting] = admin.delete_topics([TOPIC]).values()
    deleting.result(SECONDS)
    first.say("the topic is deleted")
    time.sleep(5)
    second = Partition(cluster, others[0], others[0], others).create()
    there = gone.anew("anew", FIRST + 1)
    greet(there, {}, SECOND)
    second.say(f"it is made anew, and has {SECOND} records")
    if not control:
        cluster.start(host)
        second.say(f"{host} is started")
    tell(second, others[0])
    given = consume(there, SECOND)
    second.say(f"the group was given {given} of {SECOND} records")
    read_all(there, {})
    return given < SECOND


def consume(setting: Setting, records: int) -> int:
    """As the group, until so many were given, or no more come; commits them."""
    member = joined(setting, NEWEST, "earliest")
    given, until = 0, time.monotonic() + SECONDS
    while given < records and time.monotonic() < until:
        more = len(member.poll())
        if more:
            given += more
            until = max(until, time.monotonic() + QUIET_S)
    member.leave()
    return given


main = evidence.experiment(
    run,
    "Try whether a topic's offsets end with it, if nobody coordinates the group at that moment.",
    control="The broker that coordinates the group is not stopped.",
    settings=SETTINGS,
    shown="records were not given to the group",
    otherwise="all were given",
)
