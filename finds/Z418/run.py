"""Z418 on a real cluster: a fenced acknowledgement of a share group is reported as a success.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments import evidence
from experiments.late_share_write import (
    CONFIGURATION,
    COORDINATOR,
    LEADER,
    NEXT,
    PATIENCE_S,
    POLLS,
    STATES,
    await_leader,
    coordinate,
    experiment,
    is_redelivered,
    take,
    taken,
)
from experiments.tools import HOSTS, TOPIC, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.java_client import Java

STILL_S = 6.3
"""The new coordinator stands still: until the old write was tried again, and not so long that it
is fenced (broker.session.timeout.ms). The fourth attempt is 14 s after the first, with a jitter of
a fifth; the other coordinator is there after some 10 s."""
LAST_S = 0.4
RELEASES = 1
"""The member that does not acknowledge the record that it is given in the new leadership."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group is given a record again."""
    topic = Partition(cluster, NEXT, NEXT, HOSTS).create(asking=NEXT)
    there = (LEADER, NEXT)
    away, back = (NEXT, LEADER, COORDINATOR), (LEADER, NEXT, COORDINATOR)
    with (
        evidence.scene(cluster, folder, CONFIGURATION, library=Java()) as scene,
        ThreadPoolExecutor() as threads,
    ):
        coordinate(cluster, topic, scene)
        greet(scene, {}, 4)
        members = [taken(scene, explicit=at != RELEASES) for at in range(4)]
        topic.say("four members hold a record each")
        scene.kill(COORDINATOR)
        began = time.monotonic()
        old = threads.submit(members[0].commit)
        topic.say(f"{COORDINATOR} is killed, and the first acknowledgement waits")
        topic.elect(away, back, asking=there, settle=0)
        await_leader(cluster, NEXT, STATES)
        await_leader(cluster, LEADER, TOPIC)
        topic.say(f"{NEXT} has led {TOPIC}, {LEADER} leads it; {NEXT} leads {STATES}")
        for each in members[1:]:
            take(each)
        if old.done():
            raise ClusterError("the first acknowledgement was answered too early")
        scene.pause(NEXT)
        topic.say(f"the others hold the next records, {NEXT} stands still")
        commits = [threads.submit(members[2].commit)]
        time.sleep(STILL_S)
        if not control:
            commits.append(threads.submit(members[3].commit))
        time.sleep(LAST_S)
        scene.resume(NEXT)
        old.result(PATIENCE_S)
        topic.say(f"{NEXT} continues, the first is answered {time.monotonic() - began:.1f} s late")
        for commit in commits:
            commit.result(PATIENCE_S)
        for each in members:
            each.leave()
        again = taken(scene)
        for _ in range(POLLS):
            again.commit()
            again.poll()
        again.leave()
    return is_redelivered(topic, folder)


main = experiment(
    run,
    "Check whether a fenced acknowledgement succeeds, and its record is given again.",
    "The new leadership writes nothing together with the old write.",
)
