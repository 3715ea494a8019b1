"""Who asks a cluster's controller for what while it runs, by the options of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import UNSET

from reference.cluster.sim.options import ClusterOptions
from reference.cluster.sim.partition import ClusterPartition
from reference.moving.sim.administrator import Asker, Mover, Reader, World
from reference.moving.sim.topics import Catalog, Changes, Unregistering
from reference.sim.choices import Chooser, stream_of_option
from reference.snapshots.sim.changes import may_vote


class Asked(World, Protocol):
    """The cluster."""

    partitions: list[ClusterPartition]
    catalog: Catalog

    @property
    def all_brokers(self) -> tuple[int, ...]: ...


def administrators_of(
    options: ClusterOptions, topics: Sequence[int], chooser: Chooser, cluster: Asked
) -> list[Asker[Any]]:
    """topics: those that may change, by their place among all."""
    shape, data = options.shape, options.data
    found: list[Asker[Any]] = []
    if shape.reassignments is not UNSET:
        stream = chooser.stream(stream_of_option("reassignments"))
        least = data.min_insync_replicas
        found.append(Mover(shape.reassignments, least, cluster.partitions, stream, cluster))
    if shape.topic_changes is not UNSET:
        stream = chooser.stream(stream_of_option("topic_changes"))
        of = topics, cluster.catalog, cluster.all_brokers, shape.second_rack is not UNSET
        found.append(Changes(shape.topic_changes, data.replicas, *of, stream, cluster))
    if shape.unregistrations is not UNSET:
        stream = chooser.stream(stream_of_option("unregistrations"))
        known = cluster.partitions, cluster.all_brokers
        found.append(Unregistering(shape.unregistrations, *known, stream, cluster))
    if shape.reads is not UNSET:
        stream = chooser.stream(stream_of_option("reads"))
        found.append(Reader(shape.reads, may_vote(options.quorum), stream, cluster))
    return found
