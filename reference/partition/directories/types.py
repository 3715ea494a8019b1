"""The rows of a partition whose replicas are in log directories.

They are those of moving replicas, with the replica's directory.

Law of this file: values only, the twins of specs/partition/directories/DirectoryPartition.tla.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.fields import AtLeastOne, ByNode, SetOf
from kraftcheck.reference.partition.directories.messages import (
    HeartbeatRequest,
    RegisterBrokerRequest,
)
from kraftcheck.reference.partition.messages import NoRequest
from kraftcheck.reference.partition.moving.types import (
    Constants as MovingConstants,
    MovingBrokerRow,
    MovingControllerRow,
    initial_moving_controller,
    initial_moving_partition,
    initial_moving_row,
)
from kraftcheck.reference.partition.reassignment.types import UNASSIGNED, MovingPartition


class Constants(
    MovingConstants, frozen=True, kw_only=True, tag="directories", tag_field="protocol"
):
    """The constants of specs/partition/directories/DirectoryPartition.tla."""

    directories: SetOf[AtLeastOne] = (1, 2)
    """Of each broker."""
    first_directory: AtLeastOne = 1
    """Where a broker has a replica of this partition, if it may choose."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert [*self.directories] == sorted({*self.directories}), "directories are sorted, once"
        assert self.first_directory in self.directories, "a replica is in a directory"


class Disks(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the controller knows of a broker's directories."""

    online: SetOf[int]
    """Those that are registered and have not failed."""


class DirectoryBrokerRow(MovingBrokerRow, frozen=True, gc=False, cache_hash=True):
    """The whole state of one broker as far as one partition is concerned."""

    controller_request: NoRequest | RegisterBrokerRequest | HeartbeatRequest
    online: SetOf[int]
    """Its directories that have not failed since it started, sorted."""
    directory: int
    """Durable: where its replica is; 0: it has none. The replica is offline where that has failed.
    """


class DirectoryControllerRow(MovingControllerRow, frozen=True, gc=False, cache_hash=True):
    """The whole state of the controller as far as one partition is concerned."""

    disks: ByNode[Disks]
    """By the position of the broker."""

    def directories_of(self, at: int) -> tuple[int, ...]:
        return self.disks[at].online


def is_offline(row: DirectoryBrokerRow) -> bool:
    """Whether there is a replica, in a directory that has failed."""
    return row.directory != UNASSIGNED and row.directory not in row.online


def initial_directory_partition(constants: Constants) -> MovingPartition:
    first = constants.first_directory
    places = [first if b in constants.first_replicas else UNASSIGNED for b in constants.brokers]
    return replace(initial_moving_partition(constants), directories=tuple(places))


def initial_directory_row(constants: Constants) -> DirectoryBrokerRow:
    """The first state of every broker: registered, and it has not heard of the partition."""
    row = initial_moving_row(constants)
    image = replace(row.image, partition=initial_directory_partition(constants))
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    of = {"image": image, "online": constants.directories, "directory": UNASSIGNED}
    return DirectoryBrokerRow(**{**fields, **of})


def initial_directory_controller(constants: Constants) -> DirectoryControllerRow:
    row = initial_moving_controller(constants)
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    disks = (Disks(constants.directories),) * len(constants.brokers)
    partition = initial_directory_partition(constants)
    return DirectoryControllerRow(**{**fields, "partition": partition, "disks": disks})
