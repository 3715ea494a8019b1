"""Steps of brokers and controller with directories, for a partition's scheduler."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.partition.directories.handlers import DirectoryBrokers
from kraftcheck.reference.partition.directories.messages import (
    ControllerRequestTimeout,
    HeartbeatRequest,
    RegisterBrokerRequest,
    SendAssignReplicasToDirs,
)
from kraftcheck.reference.partition.directories.properties import (
    is_held_rightly,
    is_served_rightly,
)
from kraftcheck.reference.partition.directories.types import (
    Constants,
    Disks,
    is_offline,
)
from kraftcheck.reference.partition.messages import (
    BrokerFlush,
    BrokerRecord,
    CheckpointHighWatermark,
)
from kraftcheck.reference.partition.moving.sim.machine import MovingMachine
from kraftcheck.reference.partition.moving.types import Constants as MovingConstants
from kraftcheck.reference.partition.replay import CommittedBatch
from kraftcheck.reference.partition.sim.machine import PartitionMachine, PartitionMemo
from kraftcheck.reference.sim.interning import KnownInput

_WRITTEN: Final = (BrokerFlush, CheckpointHighWatermark)


class DirectoryMachine(MovingMachine):
    """A partition whose replicas are in directories that fail."""

    brokers: DirectoryBrokers
    constants: Constants
    controller_timeout = ControllerRequestTimeout

    def is_suspicious(self, node: int, old: Any, new: Any) -> bool:
        return (
            super().is_suspicious(node, old, new)
            or not is_held_rightly(node, new)
            or not is_served_rightly(new)
        )

    def is_inert(self, node: int, before: Any, after: Any, sent: Any) -> bool:
        of = before.directory == after.directory and before.online == after.online
        return of and super().is_inert(node, before, after, sent)

    def _wanted(self, node: int, row: Any) -> list[KnownInput]:
        """A broker writes nothing where the directory has failed, and says where a replica is."""
        wants = super()._wanted(node, row)
        if is_offline(row):
            wants = [each for each in wants if not isinstance(each.value, _WRITTEN)]
        if self.brokers.tells_directory(node, row):
            wants.append(self._want(SendAssignReplicasToDirs))
        return wants

    def replayed(self, batches: Iterable[CommittedBatch]) -> Any:
        """Add the directories of a registration, which only the request names here.

        In Kafka the record has them.
        """
        known = [*batches]
        row = super().replayed(known)
        disks = list(row.disks)
        for cause, records in known:
            if not any([isinstance(record, BrokerRecord) for record in records]):
                continue
            if isinstance(cause, RegisterBrokerRequest):
                disks[self.constants.brokers.index(cause.source)] = Disks(cause.directories)
            elif isinstance(cause, HeartbeatRequest):
                at = self.constants.brokers.index(cause.source)
                left = [each for each in disks[at].online if each not in cause.failed]
                disks[at] = Disks(tuple(left))
        return replace(row, disks=tuple(disks))


class DirectoryMemo(PartitionMemo):
    """Of partitions whose replicas are in directories, or move, and of others."""

    def new_machine(self, constants: Any) -> PartitionMachine:
        kinds = {Constants: DirectoryMachine, MovingConstants: MovingMachine}
        return kinds.get(type(constants), PartitionMachine)(self, constants)
