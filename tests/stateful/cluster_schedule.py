"""A cluster that is steered, and the verdict on what its clients saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.cluster.sim.options import MOVING_BROKERS, ClusterOptions, Shape
from kraftcheck.reference.cluster.steered.schedule import ClusterSchedule
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.quorum.sim.faults import OFF
from kraftcheck.traces.jobs.steered import broken_promise

__all__ = ["ClusterSchedule", "cluster_of", "judge_cluster"]


def cluster_of(
    partitions: int = 2,
    replicas: int = 3,
    voters: int = 3,
    elr: bool = True,
    unclean: bool = False,
    bug: str | None = None,
    idempotence: bool = False,
    moving: bool = False,
    changes: Mapping[str, Any] | None = None,
    directories: int = 1,
) -> ClusterSchedule:
    """Three brokers and a topic, and controllers that answer though they were deposed. Without
    idempotence each client asks once. moving: replicas may move, to a fourth broker as well, and
    two partitions may come to be; any controller is asked what is under way. changes: options of a
    quorum that changes. directories: of each broker, of those that move; where there are several
    they may fail."""
    data = PartitionOptions(replicas=replicas, elr=elr, unclean=unclean, idempotence=idempotence)
    shape = Shape(topic_partitions=partitions, stale_answers=True)
    if moving:
        of = {"reassignments": 0, "spare_partitions": 2, "reads": 0}
        shape = replace(shape, brokers=MOVING_BROKERS, **of)
    if directories > 1:
        shape = replace(shape, directories=directories, directory_failures=0)
    # Of the quorum only its size matters here, and what may change in it: faults are moves.
    quorum = type(OFF)(voters=voters, **(changes or {}))
    return ClusterSchedule(ClusterOptions(shape=shape, quorum=quorum, data=data), bug)


def judge_cluster(schedule: ClusterSchedule) -> str:
    """Empty if every partition's history is as consistent as promised, or what is missing."""
    return broken_promise(schedule.partitions)
