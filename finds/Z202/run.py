"""Z202 on a real cluster: a group stalls until a former coordinator's clock is reached.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from experiments import evidence
from experiments.group import OF_THREE, joined, poll
from experiments.tools import HOSTS, OFFSETS, Partition
from finds.Z107.run import PARTITIONS, at_end, await_read, describe
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

FAST, *OTHERS = HOSTS
AHEAD = Path(__file__).with_name("ahead.c")
AHEAD_S, LATE_S, MORE_S = 180, 30, 60
"""b1's clock; when a partition is taken over late; how long it is waited for behind that."""
SESSION_S = 12
"""Until another broker coordinates: Kafka's own broker.session.timeout.ms is nine."""
CONFIGURATION = replace(OF_THREE, rebalance_s=80)
"""A rebalance may take a session (45 s) and the time between two polls, and a heartbeat."""
MEMBER = {"max.poll.interval.ms": "30000"}
SHORTER = "consumer max.poll.interval.ms=30000: a shorter rebalance, for a quick run"


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a partition is nobody's for more than half a minute."""
    partition = Partition(cluster, FAST, FAST, HOSTS).create(partitions=PARTITIONS)
    cluster.stop(FAST)
    with ahead(0 if control else AHEAD_S, cluster.directory):
        cluster.start(FAST)
    partition.await_isr(HOSTS, asking=FAST)
    with evidence.scene(cluster, folder, CONFIGURATION, partitions=PARTITIONS) as scene:
        greet(scene, {})
        first = joined(scene, "consumer", "earliest", commits=False, more=MEMBER)
        await_read([first], 1)
        partition.elect(HOSTS, asking=HOSTS, topic=OFFSETS)
        second = joined(scene, "consumer", "earliest", commits=False, more=MEMBER)
        await_read([first, second], 1)
        describe(partition, FAST)
        partition.say("two members have joined, b1 coordinates")
        scene.kill(FAST)
        poll(first, SESSION_S)
        second.leave()
        left = time.monotonic()
        greet(scene, {})
        while len(at_end(first, 2)) < PARTITIONS and time.monotonic() < left + AHEAD_S + MORE_S:
            poll(first, 1)
        took = time.monotonic() - left
        partition.say(f"b1 was killed, a member left; its partition was nobody's for {took:.0f} s")
        describe(partition, OTHERS[0])
        scene.start(FAST)
        first.leave()
    return took > LATE_S


@contextmanager
def ahead(seconds: int, folder: Path) -> Iterator[None]:
    """What is started meanwhile has a clock that is so fast. Raises ClusterError: it cannot."""
    if shutil.which("cc") is None:
        raise ClusterError("no `cc` command: install a C compiler (Debian's package gcc)")
    library = folder / "ahead.so"
    words = ["cc", "-shared", "-fPIC", f"-DAHEAD={seconds}", "-o", str(library), str(AHEAD)]
    subprocess.run(words, check=True)
    os.environ["LD_PRELOAD"] = str(library)
    try:
        yield
    finally:
        del os.environ["LD_PRELOAD"]


main = evidence.experiment(
    run,
    "Try whether a group is assigned anew after a coordinator whose clock was fast.",
    control="b1's clock is right.",
    settings=evidence.QUICK_GROUPS,
    reasons=(SHORTER,),
    shown="a partition was nobody's",
    otherwise="it was taken over",
)
