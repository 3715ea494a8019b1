"""When a cluster is at rest: everybody is in sync, and has on disk what everybody else has.

In sync is not enough. A broker that was cut off stays in the ISR for replica.lag.time.max.ms, and
may be back before anybody misses it; until its connections are made anew the high watermark stands
still below the leader's log end. Who reads then misses the rest, and who looks at the disks finds
that they end differently. Both say something of the moment and nothing of the cluster.
"""

from __future__ import annotations

import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kraftcheck.kafka.live.cluster import Cluster

SETTLE_S = 60.0
"""How long is waited for rest."""
HOLD_S = 1.5
"""How long it must last: three fetches, so that a leader has heard of its followers' log ends and
they of its high watermark (replica.fetch.wait.max.ms is 500)."""
LOOK_S = 0.3


def settle(
    cluster: Cluster, admin: AdminClient, topic: str, partitions: int, seconds: float = SETTLE_S
) -> bool:
    """Waits until the topic is at rest, at most so many seconds. Returns whether it is.

    Nobody may write meanwhile.
    """
    deadline = time.monotonic() + seconds
    since, before = time.monotonic(), None
    while time.monotonic() < deadline:
        now = _state(cluster, admin, topic, partitions)
        if now is None or now != before:
            since, before = time.monotonic(), now
        elif time.monotonic() - since >= HOLD_S:
            return True
        time.sleep(LOOK_S)
    return False


def _state(
    cluster: Cluster, admin: AdminClient, topic: str, partitions: int
) -> tuple[dict[int, int], dict[str, int]] | None:
    """Who leads, and how long the logs are; None while replicas are out of sync or differ."""
    try:
        known = admin.list_topics(topic, timeout=5).topics[topic].partitions
    except (KafkaException, KeyError):
        return None
    whole = [len(p.isrs) == len(p.replicas) and p.leader >= 0 for p in known.values()]
    if len(whole) != partitions or not all(whole):
        return None
    lengths = log_lengths([cluster.directory / node.name for node in cluster.state.nodes], topic)
    if len(lengths) != partitions or any(len(set(each)) > 1 for each in lengths.values()):
        return None
    leaders = {at: partition.leader for at, partition in known.items()}
    return leaders, {key: each[0] for key, each in lengths.items()}


def log_lengths(directories: list[Path], topic: str) -> dict[str, list[int]]:
    """By partition, the bytes of its log in each of these directories that has one.

    Replicas of a log are the same bytes, wherever their segments begin.
    """
    found: dict[str, list[int]] = defaultdict(list)
    for directory in directories:
        for partition in sorted(directory.glob(f"{topic}-*")):
            if partition.name.rpartition("-")[0] == topic:
                with suppress(OSError):  # deleted while it is looked at
                    found[partition.name].append(
                        sum(segment.stat().st_size for segment in partition.glob("*.log"))
                    )
    return dict(found)
