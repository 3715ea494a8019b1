"""Z180 on a real cluster: a group goes back to the classic protocol, and nobody is told to join.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

from pathlib import Path

from experiments import evidence
from experiments.group import OF_THREE, joined, poll
from experiments.tools import HOSTS, Partition
from finds.Z107.run import PARTITIONS, at_end, await_read, describe, waiting
from finds.Z109.run import coordinator, other
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster

WAIT_S = 60.0
"""More than a session (45 s)."""


def run(cluster: Cluster, folder: Path, wait: float, control: bool) -> bool:
    """Whether a partition is nobody's after the member has left. wait: seconds."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=PARTITIONS)
    with evidence.scene(cluster, folder, OF_THREE, partitions=PARTITIONS) as scene:
        greet(scene, {})
        stays = joined(scene, "classic", "earliest", commits=False)
        await_read([stays], 1)
        leaves = joined(scene, "consumer", "earliest", commits=False)
        await_read([stays, leaves], 1)
        partition.say("a member joined (consumer protocol)")
        describe(partition, HOSTS[0])
        host = coordinator(partition)
        leaves.leave()
        if not control:
            scene.kill(host)
            partition.say(f"it left; {host}, which coordinated, is killed")
        greet(scene, {})
        poll(stays, wait)
        read = at_end(stays, 2)
        partition.say(f"it left {wait:.0f} s ago; read on: {sorted(read)}")
        describe(partition, other(host))
        if not control:
            scene.start(host)
        stays.leave()
        partition.await_isr(HOSTS, asking=HOSTS[0])
    return len(read) < PARTITIONS


main = evidence.experiment(
    run,
    "Try whether who stays in a group that was migrated back takes over what a member leaves.",
    control="No broker is killed.",
    more=[waiting(WAIT_S)],
    settings=evidence.QUICK_GROUPS,
    shown="a partition was nobody's",
    otherwise="all were taken over",
)
