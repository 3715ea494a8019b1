"""Moves of an administrator: other replicas for a partition, or those that were there before."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import permutations
from typing import Any

from reference.cluster.steered.moves import ClusterMoves
from reference.cluster.steered.parts import SteeredPartition
from reference.moving.messages import GiveUpReassignment, ReassignReplicas
from reference.moving.types import Constants
from reference.runner.narrate import render_input
from reference.steered.moves import Move


def reassignments(cluster: ClusterMoves) -> list[Move]:
    """The active controller is asked for them."""
    if cluster.controllers.active() is None:
        return []
    return [
        cluster.move(
            f"partition {partition.number}: {render_input(asked)}",
            partial(cluster.controllers.ask, {partition.number: asked}),
        )
        for partition in cluster.partitions
        for asked in _asked(partition)
    ]


def _asked(partition: SteeredPartition) -> Iterator[Any]:
    """Nothing where replicas stay. Lists of as many as are replicas, or one more or less."""
    constants = partition.constants
    if not isinstance(constants, Constants):
        return
    yield GiveUpReassignment()
    now = len(partition.replicas)
    for size in range(max(constants.min_insync_replicas, now - 1), now + 2):
        yield from map(ReassignReplicas, permutations(partition.brokers, size))
