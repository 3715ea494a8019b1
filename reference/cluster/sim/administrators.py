"""Ask a cluster's controller for changes while it runs, and have directories fail.

The options of the run say for which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from kraftcheck.reference.cluster.sim.options import ClusterOptions
from kraftcheck.reference.partition.directories.sim.failures import Failures
from kraftcheck.reference.partition.moving.sim.administrator import (
    Asker,
    Mover,
    Reader,
)
from kraftcheck.reference.partition.moving.sim.topics import Changes, Unregistering
from kraftcheck.reference.quorum.snapshots.sim.changes import may_vote
from kraftcheck.reference.sim.choices import Chooser, Stream, stream_of_option


def administrators_of(
    options: ClusterOptions, topics: Sequence[int], chooser: Chooser, cluster: Any
) -> list[Asker[Any] | Failures]:
    """topics: those that may change, by their place among all."""
    shape, first = options.shape, cluster.constants.partitions[0]
    least, placed = options.data.min_insync_replicas, shape.second_rack is not UNSET
    partitions, brokers = cluster.partitions, cluster.all_brokers
    made: dict[str, Callable[[int, Stream], Asker[Any] | Failures]] = {
        "reassignments": lambda asked, stream: Mover(asked, least, partitions, stream, cluster),
        "topic_changes": lambda asked, stream: Changes(
            *(asked, options.data.replicas, topics, cluster.catalog, brokers, placed),
            *(stream, cluster),
        ),
        "unregistrations": lambda asked, stream: Unregistering(
            asked, partitions, brokers, stream, cluster
        ),
        "directory_failures": lambda asked, stream: Failures(
            asked, getattr(first, "directories", ()), stream, cluster.brokers, cluster.call
        ),
        "reads": lambda asked, stream: Reader(asked, may_vote(options.quorum), stream, cluster),
    }
    asked = {name: getattr(shape, name) for name in made}
    return [
        made[name](times, chooser.stream(stream_of_option(name)))
        for name, times in asked.items()
        if times is not UNSET
    ]
