"""Z108 on a real cluster: a consumer that lost its partition commits for it, and is not refused.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments import evidence
from experiments.copying import CONFIGURATION, COPIES, Application, copies_in, create_copies
from experiments.group import Protocol, tell
from experiments.tools import HOSTS, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster

RECORDS = 10
REJOIN_S = 15
"""Three heartbeats: until a member that was removed has heard so, and has joined again."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were copied twice."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create()
    create_copies(partition, HOSTS[0])
    protocol: Protocol = "classic" if control else "consumer"
    with evidence.scene(cluster, folder, CONFIGURATION, also=[COPIES]) as scene:
        greet(scene, {}, RECORDS)
        m = Application(cluster, scene, "m", protocol, HOSTS[0])
        with m, Application(cluster, scene, "n", protocol, HOSTS[0]) as n:
            m.poll(f"read {RECORDS}")
            partition.say(f"M was given {RECORDS} records")
            m.pause()
            scene.journal.moment("start-pause", "M")
            n.poll(f"read {RECORDS}")
            first = n.copy()
            partition.say(f"N was given them, too; its copy: {first or 'done'}")
            tell(partition, HOSTS[0])
            m.resume()
            scene.journal.moment("stop-pause", "M")
            time.sleep(REJOIN_S)
            partition.say(f"M goes on since {REJOIN_S} s")
            tell(partition, HOSTS[0], "--members", "--verbose")
            refused = m.copy()
            partition.say(f"M's copy: {refused or 'done'}")
            tell(partition, HOSTS[0])
    copied = copies_in(partition, HOSTS[0], RECORDS)
    return len(copied) > RECORDS


main = evidence.experiment(
    run,
    "Try whether a member that was removed from its group may commit what it read before.",
    control="Consumers use the classic protocol.",
    settings=evidence.QUICK_START,
    shown="records were copied twice",
    otherwise="each was copied once",
)
