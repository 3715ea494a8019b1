"""Z109 on a real cluster: a partition that is being taken is given to another member, too.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments import evidence
from experiments.copying import CONFIGURATION, COPIES, Application, copies_in, create_copies
from experiments.group import GROUP, tell
from experiments.tools import HOSTS, TOPIC, Partition
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster

RECORDS = 5
"""In each of the two partitions."""
HEARTBEATS_S = 12
"""Of five seconds each: until M was asked to give a partition up."""
POLL = "poll 60000"


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were copied twice."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS).create(partitions=2)
    create_copies(partition, HOSTS[0])
    with evidence.scene(cluster, folder, CONFIGURATION, partitions=2, also=[COPIES]) as scene:
        greet(scene, {}, RECORDS)
        m = Application(cluster, scene, "m", "consumer", HOSTS[0], slow=True)
        n = Application(cluster, scene, "n", "consumer", HOSTS[0])
        with m, n, ThreadPoolExecutor(1) as beside:
            partition.say(f"M is assigned {m.join(POLL)}, and loads")
            reading = beside.submit(n.poll, POLL)
            time.sleep(HEARTBEATS_S)
            tell(partition, HOSTS[0], "--members", "--verbose")
            if not control:
                host = coordinator(partition)
                scene.stop(host)
                reading.result()
                partition.say(f"{host}, which coordinated, was stopped; N has {parts(n)}")
                if n.read:
                    n.write()
                tell(partition, other(host), "--members", "--verbose")
            m.go_on()
            partition.say(f"M's listener is done; it has {parts(m)}")
            refused = m.copy()
            partition.say(f"M's copy: {refused or 'done'}")
            if control:
                m.poll("poll 3000")
                reading.result()
                partition.say(f"M polls again; N has {parts(n)}")
                if n.read:
                    n.copy()
            else:
                if n.read:
                    refused = n.finish()
                    partition.say(f"N's copy: {refused or 'done'}")
                scene.start(host)
        partition.await_isr(HOSTS, asking=HOSTS[0])
    copied = copies_in(partition, HOSTS[0], 2 * RECORDS)
    return len(copied) > len(set(copied))


def coordinator(partition: Partition) -> str:
    """The host of the group's."""
    words = ("--describe", "--group", GROUP, "--state")
    said = partition.ask("consumer.group.ConsumerGroupCommand", HOSTS[0], *words)
    found = re.search(r":\d+\s*\((\d+)\)", said)
    assert found is not None, said
    return HOSTS[int(found[1]) - 1]


def other(host: str) -> str:
    return next(each for each in HOSTS if each != host)


def parts(of: Application) -> str:
    """How many records of which partition it was given."""
    numbers = [at for at, _, _ in of.read]
    return ", ".join(f"{numbers.count(at)} of {TOPIC}-{at}" for at in sorted({*numbers})) or "none"


main = evidence.experiment(
    run,
    "Try whether a partition that a member is taking is given to another one.",
    control="No broker is stopped.",
    settings=evidence.QUICK_START,
    shown="records were copied twice",
    otherwise="each was copied once",
)
