"""Who makes up a cluster: the controller quorum, and the partitions of a topic.

Law of this file: values only. A cluster has no row of its own. Its state is that of its components:
the voters' rows, and for each partition the rows of its brokers and of its controller, each as if
the partition were alone (docs/reference/joins.md).
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import msgspec

from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.compaction.types import Constants as Compacted
from kraftcheck.reference.partition.directories.types import Constants as DirectoryConstants
from kraftcheck.reference.partition.moving.types import Constants as MovingConstants
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.quorum.snapshots.types import Constants as SnapshotConstants
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.quorum.voters.types import Constants as VoterConstants

QUORUM = 0
"""The component that is the controller quorum; partition p is component 1 + p."""

PartitionKinds: TypeAlias = PartitionConstants | MovingConstants | DirectoryConstants
ComponentConstants: TypeAlias = Constants | VoterConstants | SnapshotConstants | PartitionKinds


class ClusterConstants(msgspec.Struct, frozen=True, tag="cluster", tag_field="protocol"):
    """The constants of every component."""

    quorum: Constants | VoterConstants | SnapshotConstants
    partitions: tuple[PartitionKinds, ...]

    def __post_init__(self) -> None:
        assert self.partitions, "a cluster has a partition"

    @property
    def voters(self) -> Constants:
        """Of a quorum whose voters are the same all the time."""
        assert isinstance(self.quorum, Constants), "nobody steers one that changes"
        return self.quorum

    @property
    def components(self) -> tuple[ComponentConstants, ...]:
        return (self.quorum, *self.partitions)

    @property
    def brokers(self) -> tuple[int, ...]:
        """Who holds any partition, sorted."""
        return tuple(sorted({b for each in self.partitions for b in each.replicas}))


def on_cluster(protocol: str) -> str:
    """The scenario of a cluster that has the log of this protocol's coordinator."""
    return f"{protocol}-on-cluster"


@cache
def coordinated(protocol: Protocol) -> type[Any]:
    """The constants of such a run: `coordinator` has those of the protocol.

    The first partition is its log. `replicas`: of that, what brokers have left, if they clean it.
    Their components come after the partitions.
    """
    return msgspec.defstruct(
        f"{protocol.name}_on_cluster_constants",
        [("coordinator", protocol.constants), ("replicas", Compacted | None, None)],
        bases=(ClusterConstants,),
        namespace={"components": property(_with_coordinator)},
        frozen=True,
        omit_defaults=True,
        tag=on_cluster(protocol.name),
        tag_field="protocol",
    )


def _with_coordinator(constants: Any) -> tuple[Any, ...]:
    replicas = () if constants.replicas is None else (constants.replicas,)
    return (constants.quorum, *constants.partitions, constants.coordinator, *replicas)
