"""Define what a node receives where the metadata log has snapshots.

That is what a controller does, snapshots, and the occasions to make and to clean them.

Law of this file: values only, named as in specs/quorum/snapshots/Snapshots.tla.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from kraftcheck.reference.kit.fields import NodeOrNobody
from kraftcheck.reference.kit.messages import Addressed, Tagged
from kraftcheck.reference.quorum.snapshots.types import Snapshot, SnapshotId
from kraftcheck.reference.quorum.voters import messages as voters

Error: TypeAlias = Literal[
    "NONE",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
    "SNAPSHOT_NOT_FOUND",
]


class FetchResponse(voters.FetchResponse, frozen=True):
    """V5. As where voters change; instead of records it may have the id of a snapshot."""

    snapshot_id: SnapshotId


class FetchSnapshotRequest(Addressed, frozen=True):
    """V6. Asks for a snapshot that a response to a fetch has named."""

    epoch: int
    snapshot_id: SnapshotId


class FetchSnapshotResponse(Addressed, frozen=True):
    """V6. An error, or the snapshot."""

    error: Error
    epoch: int
    leader: NodeOrNobody
    snapshot: Snapshot
    request: FetchSnapshotRequest


class CreateSnapshot(Tagged, frozen=True):
    """V2. The occasion to make a snapshot of all below an offset."""

    end: int


class CleanSnapshots(Tagged, frozen=True):
    """V3. The occasion to delete all below an offset."""

    offset: int


OfSnapshots: TypeAlias = CreateSnapshot | CleanSnapshots
Message: TypeAlias = FetchSnapshotRequest | FetchSnapshotResponse
Input: TypeAlias = voters.Input | FetchResponse | Message | OfSnapshots

_taken = [of for of in voters.INPUTS if of not in voters.OF_OPTIONS]
_of_voters: tuple[type[Any], ...] = tuple(
    [FetchResponse if of is voters.FetchResponse else of for of in _taken]
)
_messages = len([of for of in voters.MESSAGES if of in _taken])
MESSAGES: tuple[type[Any], ...] = (*_of_voters[:_messages], *get_args(Message))
INPUTS: tuple[type[Any], ...] = (*MESSAGES, *_of_voters[_messages:], *get_args(OfSnapshots))
