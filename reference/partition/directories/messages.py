"""Messages of a partition whose replicas are in directories that fail.

They are those of a partition whose replicas move, some with directories, and the failures.

Law of this file: values only, named as in specs/partition/directories/DirectoryPartition.tla.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.fields import Rank, SetOf
from kraftcheck.reference.kit.messages import Addressed, Tagged
from kraftcheck.reference.partition import messages as of_partition
from kraftcheck.reference.partition.messages import AlterPartitionRequest, NoRequest
from kraftcheck.reference.partition.moving import messages as of_moving


class RegisterBrokerRequest(of_partition.RegisterBrokerRequest, frozen=True):
    directories: SetOf[int]
    """Those that are online."""


class RegisterBrokerResponse(of_partition.RegisterBrokerResponse, frozen=True):
    request: RegisterBrokerRequest


class HeartbeatRequest(of_partition.HeartbeatRequest, frozen=True):
    failed: SetOf[int]
    """R18. All directories that have failed since the broker started."""


class HeartbeatResponse(of_partition.HeartbeatResponse, frozen=True):
    request: HeartbeatRequest


class ControllerRequestTimeout(of_partition.ControllerRequestTimeout, frozen=True):
    request: NoRequest | RegisterBrokerRequest | HeartbeatRequest | AlterPartitionRequest


class AssignReplicasToDirs(Addressed, frozen=True):
    """R16.

    A broker says where its replica is. It is sent again until the broker reads of it, so nobody
    answers.
    """

    broker_epoch: Rank
    directory: int


class SendAssignReplicasToDirs(Tagged, frozen=True):
    """The broker's AssignmentsManager."""


class LogDirFailure(Tagged, frozen=True):
    """R18. A directory fails; the broker goes on with the others."""

    directory: int


OWN: dict[str, type[Any]] = {
    of.__name__: of
    for of in (
        *(RegisterBrokerRequest, RegisterBrokerResponse, HeartbeatRequest, HeartbeatResponse),
        ControllerRequestTimeout,
    )
}
"""In the place of a partition's, by name."""


def own(types: tuple[type[Any], ...]) -> tuple[type[Any], ...]:
    """These, or what stands in their place here."""
    return tuple([OWN.get(of.__name__, of) for of in types])


BROKER_INPUTS: tuple[type[Any], ...] = (
    *own(of_moving.BROKER_INPUTS),
    LogDirFailure,
    SendAssignReplicasToDirs,
)
CONTROLLER_INPUTS: tuple[type[Any], ...] = (
    *own(of_moving.CONTROLLER_INPUTS),
    AssignReplicasToDirs,
)
MESSAGES: tuple[type[Any], ...] = (*own(of_moving.MESSAGES), AssignReplicasToDirs)
