"""Z100 on a real cluster: a static member is refused under its own id, as its join took too long.

    .venv/bin/python -m experiments.stalled_join [--control] [--repeat N]

Known, and under way to be mended (pull request 23542). A static member that joins and is not
answered asks again, and is refused: somebody has its instance id who has not left. That is itself.

1. b1 coordinates a group. Both followers of its log stand still for seven seconds; a write of the
   coordinator is given up after five (offsets.commit.timeout.ms).
2. Meanwhile a consumer with a group.instance.id joins, for the first time.

The control: it has none.

The consumer is librdkafka's. All settings are Kafka's own, but for offsets.topic.num.partitions=1
(50 by default): a quick start.

Ends with 1 if the consumer met a fatal error, with 0 if it was given the partition, with 3 if it
could not be tried.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException

from experiments import evidence
from experiments.group import GROUP
from experiments.late_offsets import OFFSETS
from experiments.orphaned_partition import HOSTS, QUICK, REASON
from experiments.tools import TOPIC, Partition
from live.cluster import Cluster
from live.confluent import MUTE, SILENT

COORDINATOR, *FOLLOWERS = HOSTS
STALLED_S, PATIENCE_S = 7.0, 60.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the consumer met a fatal error."""
    del folder  # what it is told is judged here, not as a history
    partition = Partition(cluster, COORDINATOR, COORDINATOR, HOSTS)
    partition.create(asking=COORDINATOR)
    told, _ = joins(cluster, "first", {})  # whose group makes the group's log
    partition.say(f"a first group is there; {told}")
    partition.elect(HOSTS, asking=HOSTS, topic=OFFSETS)
    for host in FOLLOWERS:
        cluster.pause(host)
    timer = threading.Timer(STALLED_S, go_on, [cluster])
    timer.start()
    told, fatal = joins(cluster, GROUP, {} if control else {"group.instance.id": "i"})
    timer.join()
    partition.say(f"the followers stood still for {STALLED_S:.0f} s; {told}")
    return fatal


def go_on(cluster: Cluster) -> None:
    for host in FOLLOWERS:
        cluster.resume(host)


def joins(cluster: Cluster, group: str, options: dict[str, str]) -> tuple[str, bool]:
    """What becomes of a consumer, and whether that is a fatal error."""
    met: list[KafkaError] = []
    wanted = {
        **SILENT,
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "group.protocol": "consumer",
        "error_cb": met.append,
        **options,
    }
    consumer = Consumer(wanted, logger=MUTE)
    consumer.subscribe([TOPIC])
    began = time.monotonic()
    try:
        while time.monotonic() < began + PATIENCE_S:
            consumer.poll(0.2)
            took = time.monotonic() - began
            if consumer.assignment():
                return f"the consumer has the partition after {took:.1f} s", False
            fatal = [error for error in met if error.fatal()]
            if fatal:
                return f"the consumer ends after {took:.1f} s: {fatal[0].str()}", True
        return "the consumer has nothing after a minute", False
    except KafkaException as error:
        return f"the consumer ends: {error.args[0].str()}", bool(error.args[0].fatal())
    finally:
        consumer.close()


main = evidence.experiment(
    run,
    "Try whether a static member may join when its join takes too long.",
    control="The consumer has no instance id.",
    settings=QUICK,
    reasons=(REASON,),
    shown="a static member was refused under its own id",
    otherwise="it was let in",
)


if __name__ == "__main__":
    main()
