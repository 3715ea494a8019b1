"""Inputs of a broker that hosts a replica: metadata, failures of directories, moves.

Law of this file: values only, named as in specs/partition/hosting/Hosting.tla.
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from kraftcheck.reference.kit.fields import SetOf
from kraftcheck.reference.kit.messages import Tagged

# --- What the controller commits.


class TopicCreated(Tagged, frozen=True):
    """R10. Under the same name, with a new id."""

    assigned: bool
    """Whether this broker is one of the replicas."""


class TopicDeleted(Tagged, frozen=True):
    """R12."""


class AssignmentChanged(Tagged, frozen=True):
    """R3. The broker becomes a replica, or is none any more."""


class TransactionAborted(Tagged, frozen=True):
    """V28 (KIP-868). Begin, a change of the assignment, Abort."""


class LeaderChanged(Tagged, frozen=True):
    """C9. The broker is elected, or another one is."""


class IsrChanged(Tagged, frozen=True):
    """C12. Another replica enters or leaves the ISR."""


class JoinIsr(Tagged, frozen=True):
    """C12. The replica has copied all, and enters the ISR."""


class Acknowledge(Tagged, frozen=True):
    """Records are acknowledged, which all of the ISR have."""


# --- What the broker applies.


class ApplyRecords(Tagged, frozen=True):
    """V26. All that is new in the metadata log, as one delta."""


class LoadSnapshot(Tagged, frozen=True):
    """V27. The metadata as a snapshot."""


# --- Directories.


class LogDirFailure(Tagged, frozen=True):
    """R18."""

    directory: int


class ReportDirectory(Tagged, frozen=True):
    """R19. A heartbeat names a directory that has failed."""

    directory: int


class MoveReplica(Tagged, frozen=True):
    """R21. AlterReplicaLogDirs."""

    directory: int


class FutureCaughtUp(Tagged, frozen=True):
    """R21. The future replica has all, and the controller accepts where it is."""


class PromoteFuture(Tagged, frozen=True):
    """R21. It takes the place of the replica."""


class CancelMove(Tagged, frozen=True):
    """R21. The replica is to be where it is."""


# --- The process.


class Propose(Tagged, frozen=True):
    """P10. The leader sends AlterPartition."""


class HostCrash(Tagged, frozen=True):
    """The process ends."""


class HostRestart(Tagged, frozen=True):
    """C3, R20. It starts, registers and is out of the ISR; the metadata are published later."""

    directories: SetOf[int]
    """Those that it could load."""


Input: TypeAlias = (
    TopicCreated
    | TopicDeleted
    | AssignmentChanged
    | TransactionAborted
    | LeaderChanged
    | IsrChanged
    | JoinIsr
    | Acknowledge
    | ApplyRecords
    | LoadSnapshot
    | LogDirFailure
    | ReportDirectory
    | MoveReplica
    | FutureCaughtUp
    | PromoteFuture
    | CancelMove
    | Propose
    | HostCrash
    | HostRestart
)
INPUTS: tuple[type[Any], ...] = get_args(Input)
