"""Declare a partition whose replicas move as a system: what an administrator may ask for besides.

As reference/partition/system.py, which says the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any, Final

from kraftcheck.reference.partition import system as of_partition
from kraftcheck.reference.partition.messages import CONTROLLER
from kraftcheck.reference.partition.moving.messages import (
    GiveUpReassignment,
    ListReassignments,
    OtherPartitions,
    ReassignReplicas,
    RemoveTopic,
)
from kraftcheck.reference.partition.moving.types import Constants
from kraftcheck.reference.partition.reassignment.messages import (
    CreatePartition,
    PlacePartition,
    UnregisterBroker,
)


def of_administrator(constants: Constants) -> Iterator[Any]:
    """Every list that is not shorter than min.insync.replicas, and what needs none."""
    brokers = constants.brokers
    for size in range(constants.min_insync_replicas, len(brokers) + 1):
        for listed in permutations(brokers, size):
            yield from (ReassignReplicas(listed), CreatePartition(listed), PlacePartition(listed))
    yield from (GiveUpReassignment(), RemoveTopic(), ListReassignments())
    yield from map(UnregisterBroker, brokers)
    yield from (OtherPartitions(broker, hold) for broker in brokers for hold in (False, True))


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    yield from of_partition.WORLD.local(constants, node, row)
    if node == CONTROLLER:
        yield from of_administrator(constants)


WORLD: Final = replace(
    of_partition.WORLD,
    constants={**of_partition.WORLD.constants, "first_replicas": ((0, 1),)},
    local=_local,
)
