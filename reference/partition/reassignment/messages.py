"""What comes to the controller of a topic: what brokers ask and do, and what administrators ask.

Law of this file: values only, named as in specs/partition/reassignment/Reassignments.tla.
Partitions count from 1.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from kraftcheck.reference.kit.fields import Node, SetOf
from kraftcheck.reference.kit.messages import Tagged


class RegisterBroker(Tagged, frozen=True):
    """C2, C3. A broker has started."""

    broker: Node
    clean: bool
    """Whether it can prove a clean stop."""
    directories: SetOf[int]
    """Those that it could load, sorted."""


class UnfenceBroker(Tagged, frozen=True):
    """C5. A heartbeat of a fenced broker that has applied what it must."""

    broker: Node
    failed: SetOf[int]
    """The directories that it names as failed, sorted."""


class FenceBroker(Tagged, frozen=True):
    """C6. A session that runs out, or a broker that asks for it."""

    broker: Node


class ShutDownBroker(Tagged, frozen=True):
    """C5. A broker that wants to stop."""

    broker: Node


class UnregisterBroker(Tagged, frozen=True):
    """R15. An administrator lets a broker be forgotten."""

    broker: Node


class DirectoryFailure(Tagged, frozen=True):
    """R19. A heartbeat that names a directory as failed."""

    broker: Node
    directory: int


class AssignDirectory(Tagged, frozen=True):
    """R16. A broker says in which directory a replica is."""

    partition: int
    broker: Node
    directory: int


class AlterPartition(Tagged, frozen=True):
    """C12. A leader proposes an ISR."""

    partition: int
    source: Node
    isr: SetOf[Node]
    """Sorted."""
    leader_epoch: int
    partition_epoch: int


class Reassign(Tagged, frozen=True):
    """R1, R2. AlterPartitionReassignments of a partition."""

    partition: int
    target: tuple[Node, ...]


class CancelReassignment(Tagged, frozen=True):
    """R4. AlterPartitionReassignments without a list."""

    partition: int


class ElectPartitionLeader(Tagged, frozen=True):
    """C9, R8. An administrator, or the leader balancer, asks for an election."""

    partition: int
    election: Literal["PREFERRED", "UNCLEAN"]


class CreateTopic(Tagged, frozen=True):
    """R10. With one partition."""

    replicas: tuple[Node, ...]


class CreatePartition(Tagged, frozen=True):
    """R11. One more."""

    replicas: tuple[Node, ...]


class PlaceTopic(Tagged, frozen=True):
    """R9, R10. Without a list: it is what the placer chooses."""

    replicas: tuple[Node, ...]


class PlacePartition(Tagged, frozen=True):
    """R9, R11. One more, without a list."""

    replicas: tuple[Node, ...]


class DeleteTopic(Tagged, frozen=True):
    """R12."""


class ChangeMinIsr(Tagged, frozen=True):
    """R24. An administrator sets min.insync.replicas of the topic."""

    min_isr: int


class MetadataUpdate(Tagged, frozen=True):
    """P2. The broker that leads applies all that it has not heard of the partition."""

    partition: int


class Produce(Tagged, frozen=True):
    """P4. A record that all in the ISR have is acknowledged."""

    partition: int


class ReplicaFetch(Tagged, frozen=True):
    """P9. A replica has copied all that the leader has."""

    partition: int
    broker: Node


class SendAlterPartition(Tagged, frozen=True):
    """P9. The leader proposes that a replica joins the ISR."""

    partition: int
    broker: Node


Input: TypeAlias = (
    RegisterBroker
    | UnfenceBroker
    | FenceBroker
    | ShutDownBroker
    | UnregisterBroker
    | DirectoryFailure
    | AssignDirectory
    | AlterPartition
    | Reassign
    | CancelReassignment
    | ElectPartitionLeader
    | CreateTopic
    | CreatePartition
    | PlaceTopic
    | PlacePartition
    | DeleteTopic
    | ChangeMinIsr
    | MetadataUpdate
    | Produce
    | ReplicaFetch
    | SendAlterPartition
)
INPUTS: tuple[type[Any], ...] = get_args(Input)
