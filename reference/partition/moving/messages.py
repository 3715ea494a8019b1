"""Messages of a partition whose replicas move.

They are a partition's messages, with metadata that have its lists, and an administrator's requests.

Law of this file: values only, named as in specs/partition/moving/MovingPartition.tla.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from kraftcheck.reference.kit.fields import Node, SetOf
from kraftcheck.reference.kit.messages import Addressed, Tagged
from kraftcheck.reference.partition import messages as of_partition
from kraftcheck.reference.partition.messages import BROKER_INPUTS as OF_BROKERS, BrokerRecord
from kraftcheck.reference.partition.reassignment.messages import (
    CreatePartition,
    PlacePartition,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.types import MovingPartition


class PartitionRecord(of_partition.PartitionRecord, frozen=True, tag="Partition"):
    partition: MovingPartition


Record: TypeAlias = BrokerRecord | PartitionRecord


class MetadataRecords(of_partition.MetadataRecords, frozen=True):
    records: tuple[Record, ...]


class MetadataUpdate(of_partition.MetadataUpdate, frozen=True):
    records: tuple[Record, ...]


class ReassignReplicas(Tagged, frozen=True):
    """R1, R2. AlterPartitionReassignments."""

    target: tuple[Node, ...]


class GiveUpReassignment(Tagged, frozen=True):
    """R4. AlterPartitionReassignments without a list."""


class RemoveTopic(Tagged, frozen=True):
    """R12. DeleteTopics."""


class OtherPartitions(Tagged, frozen=True):
    """R14.

    Whether other partitions of the cluster hold back a broker that wants to stop: it leads one of
    them, or somebody has not read yet that it does not. In Kafka one controller knows all.
    """

    broker: Node
    hold: bool


class ListReassignments(Tagged, frozen=True):
    """V29. ListPartitionReassignments, which any controller answers, active or not."""


class ListReassignmentsResponse(Addressed, frozen=True):
    """The lists in force, by what the controller knows to be committed.

    Kafka leaves out one to which nobody comes and from which nobody goes; here it is told, too. No
    replicas: there is no such partition.
    """

    replicas: tuple[Node, ...]
    adding: SetOf[Node]
    removing: SetOf[Node]


OWN: dict[str, type[Any]] = {
    "MetadataRecords": MetadataRecords,
    "MetadataUpdate": MetadataUpdate,
}
"""In the place of a partition's, by name."""


def own(types: tuple[type[Any], ...]) -> tuple[type[Any], ...]:
    """These, or what stands in their place here."""
    return tuple([OWN.get(of.__name__, of) for of in types])


BROKER_INPUTS: tuple[type[Any], ...] = own(OF_BROKERS)
CONTROLLER_INPUTS: tuple[type[Any], ...] = (
    *of_partition.CONTROLLER_INPUTS,
    ReassignReplicas,
    GiveUpReassignment,
    CreatePartition,
    PlacePartition,
    RemoveTopic,
    ListReassignments,
    UnregisterBroker,
    OtherPartitions,
)
MESSAGES: tuple[type[Any], ...] = (*own(of_partition.MESSAGES), ListReassignmentsResponse)
