"""Ask a cluster's controller for changes while it runs, and have directories fail.

The options of the run say for which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import UNSET

from kraftcheck.reference.cluster.sim.brokers import Brokers
from kraftcheck.reference.cluster.sim.options import ClusterOptions
from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.directories.sim.failures import Failures
from kraftcheck.reference.directories.types import Constants as DirectoryConstants
from kraftcheck.reference.moving.sim.administrator import (
    AdministratorEnvironment,
    Asker,
    Mover,
    Reader,
)
from kraftcheck.reference.moving.sim.topics import Catalog, Changes, Unregistering
from kraftcheck.reference.sim.choices import Chooser, stream_of_option
from kraftcheck.reference.snapshots.sim.changes import may_vote


class Asked(AdministratorEnvironment, Protocol):
    """The cluster."""

    partitions: list[ClusterPartition]
    catalog: Catalog
    brokers: Brokers
    constants: ClusterConstants

    @property
    def all_brokers(self) -> tuple[int, ...]: ...


def administrators_of(
    options: ClusterOptions, topics: Sequence[int], chooser: Chooser, cluster: Asked
) -> list[Asker[Any] | Failures]:
    """topics: those that may change, by their place among all."""
    shape, data = options.shape, options.data
    found: list[Asker[Any] | Failures] = []
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
    if isinstance(cluster.constants.partitions[0], DirectoryConstants):
        stream = chooser.stream(stream_of_option("directory_failures"))
        assert isinstance(shape.directory_failures, int), "settled, where there are directories"
        directories = cluster.constants.partitions[0].directories
        found.append(
            Failures(shape.directory_failures, directories, stream, cluster.brokers, cluster.call)
        )
    if shape.reads is not UNSET:
        stream = chooser.stream(stream_of_option("reads"))
        found.append(Reader(shape.reads, may_vote(options.quorum), stream, cluster))
    return found
