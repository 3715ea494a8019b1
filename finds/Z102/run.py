"""Z102 on a real cluster: a group's committed offsets are gone as soon as its last member leaves.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments import evidence
from experiments.group import JOIN_S, Protocol, joined, poll, tell
from experiments.tools import HOSTS, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

SETTINGS = {
    "a quick week": {
        "offsets.retention.minutes": "1",
        "offsets.retention.check.interval.ms": "1000",
    },
    **evidence.QUICK_GROUPS,
}
IDLE_S, EMPTY_S = 75.0, 5.0
"""In the group without a commit; between two members."""
RECORDS = 5

CONFIGURATION = Configuration(
    consumers="listen", one_client=False, goes_back=True, isolation="read_committed"
)


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group is not given a record that was written while it had no member."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create()
    protocol: Protocol = "classic" if control else "consumer"
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        first = joined(scene, protocol, "latest")
        poll(first, JOIN_S)
        for _ in range(RECORDS):
            greet(scene, {})
        if (given := poll(first, JOIN_S)) != RECORDS:
            raise ClusterError(f"the first member was given {given} records, not {RECORDS}")
        first.commit()
        partition.say(f"{RECORDS} records read, and committed")
        tell(partition, HOSTS[0])
        poll(first, IDLE_S)
        tell(partition, HOSTS[0])
        first.leave()
        partition.say("the member has left")
        greet(scene, {})
        time.sleep(EMPTY_S)
        tell(partition, HOSTS[0])
        second = joined(scene, protocol, "latest")
        given = poll(second, JOIN_S)
        greet(scene, {})
        given += poll(second, JOIN_S)
        second.leave()
        partition.say(f"the new member was given {given} of 2 records")
    return given < 2


main = evidence.experiment(
    run,
    "Try whether a group's offsets outlive its last member, as the retention says.",
    control="A group of the classic protocol.",
    settings=SETTINGS,
    shown="a record was not given to the group",
    otherwise="all were given",
)
