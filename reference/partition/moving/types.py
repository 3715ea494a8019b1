"""The rows of a partition whose replicas move: those of a partition, which know the list in force.

Law of this file: values only, the twins of specs/partition/moving/MovingPartition.tla. All brokers
of the cluster have a row, so tuples by broker are aligned with all of them. What
reference/partition says of its values holds here; a partition with its lists is that of
reference/partition/reassignment.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.fields import Node, SetOf
from kraftcheck.reference.partition.reassignment.types import UNASSIGNED, MovingPartition
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    NOBODY,
    UNDEFINED,
    BrokerRow,
    BrokerState,
    ControllerRow,
    Image,
    PartitionConstants,
    initial_controller,
    initial_row,
)

THE_DIRECTORY: Final = 1
"""Each broker has one."""


class Constants(PartitionConstants, frozen=True, kw_only=True, tag="moving", tag_field="protocol"):
    """The constants of specs/partition/moving/MovingPartition.tla.

    `replicas` are all brokers of the cluster, which have a row each.
    """

    first_replicas: tuple[Node, ...]
    """Who holds the partition at first, in assignment order; nobody: there is none yet."""
    second_rack: SetOf[Node] = ()
    """The brokers in another rack than the others, sorted; empty: none has a rack."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert set(self.first_replicas) <= set(self.replicas), "who replicates is a broker"
        assert set(self.second_rack) <= set(self.replicas), "who is in a rack is a broker"
        assert [*self.second_rack] == sorted({*self.second_rack}), "brokers are sorted, once"
        assert len(set(self.first_replicas)) == len(self.first_replicas), "a replica is listed once"
        none, least = not self.first_replicas, self.min_insync_replicas
        assert none or len(self.first_replicas) >= least, "no list is shorter"

    @property
    def directories(self) -> tuple[int, ...]:
        return (THE_DIRECTORY,)

    @property
    def leader_notes(self) -> bool:
        return False


class MovingImage(Image, frozen=True, gc=False, array_like=True, cache_hash=True):
    """The metadata that a broker has applied."""

    partition: MovingPartition


class MovingBrokerRow(BrokerRow, frozen=True, gc=False, cache_hash=True):
    """The whole state of one broker as far as one partition is concerned."""

    image: MovingImage
    replicas: tuple[Node, ...]
    """The list in force where this broker leads or follows; empty where it does neither."""


class MovingControllerRow(ControllerRow, frozen=True, gc=False, cache_hash=True):
    """The whole state of the controller as far as one partition is concerned."""

    partition: MovingPartition
    held: SetOf[Node]
    """R14. The brokers whose stop other partitions of the cluster hold back, sorted."""

    def directories_of(self, at: int) -> tuple[int, ...]:
        """R17.

        Which directories of a broker are online as far as the controller knows, by the position of
        the broker.
        """
        return (THE_DIRECTORY,)


def is_there(partition: MovingPartition) -> bool:
    """R10, R12. Whether the partition is one of a topic that exists: it has replicas."""
    return bool(partition.replicas)


def was_deleted(partition: MovingPartition) -> bool:
    """R12.

    Whether its topic is gone. What is made under its name has another id, and is another partition.
    """
    return not partition.replicas and partition.partition_epoch > 0


def initial_moving_partition(constants: Constants) -> MovingPartition:
    replicas = constants.first_replicas
    return MovingPartition(
        leader=NOBODY,
        leader_epoch=0,
        partition_epoch=0,
        isr=tuple(sorted(replicas)),
        elr=(),
        last_known_leader=NOBODY,
        recovering=False,
        replicas=replicas,
        adding=(),
        removing=(),
        directories=tuple(
            [THE_DIRECTORY if b in replicas else UNASSIGNED for b in constants.brokers]
        ),
    )


def initial_moving_row(constants: Constants) -> MovingBrokerRow:
    """The first state of every broker: registered, and it has not heard of the partition."""
    row = initial_row(constants)
    known = BrokerState(epoch=0, fenced=False, stopping=False)
    brokers = (known,) * len(constants.brokers)
    image = MovingImage(INITIAL_OFFSET, brokers, initial_moving_partition(constants))
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    if not constants.first_replicas:
        fields |= {"leader_epoch": UNDEFINED, "partition_epoch": UNDEFINED}
    return MovingBrokerRow(**{**fields, "role": "None", "image": image, "replicas": ()})


def initial_moving_controller(constants: Constants) -> MovingControllerRow:
    row = initial_controller(constants)
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    partition = initial_moving_partition(constants)
    return MovingControllerRow(**{**fields, "partition": partition, "held": ()})
