"""What a controller receives where the voters change: what a voter does, and requests for changes.

Law of this file: values only, named as in specs/quorum/voters/VoterChanges.tla.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

from kraftcheck.reference.kit.fields import Node, NodeOrNobody
from kraftcheck.reference.kit.messages import Addressed, Tagged
from kraftcheck.reference.quorum import messages as quorum
from kraftcheck.reference.quorum.voters.types import VotersLog


class FetchResponse(quorum.FetchResponse, frozen=True):
    """Q13, Q16. As the quorum's, of records that may have sets of voters."""

    records: VotersLog


Error: TypeAlias = Literal[
    "NONE",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "UNSUPPORTED_VERSION",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
]


class UpdateVoterRequest(Addressed, frozen=True):
    """V17. A voter tells the leader of `epoch` of itself."""

    epoch: int
    moved: bool


class UpdateVoterResponse(Addressed, frozen=True):
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: UpdateVoterRequest


class AddVoterRequest(Addressed, frozen=True):
    """V24. Who is no voter asks to be one."""

    voter: Node
    moved: bool


class AddVoterResponse(Addressed, frozen=True):
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: AddVoterRequest


class AddVoter(Tagged, frozen=True):
    """V15. An administrator asks for a voter more."""

    voter: Node


class RemoveVoter(Tagged, frozen=True):
    """V16. An administrator asks for a voter less."""

    voter: Node


class VoterChangeTimeout(Tagged, frozen=True):
    """V19. The request that waits for its change is given up."""


class FetchFromBootstrap(Tagged, frozen=True):
    """V25. Who is no voter and hears from no leader asks another node."""

    peer: Node


class ReplaceDisk(Tagged, frozen=True):
    """V10. A process starts under the id of a controller that is down, with an empty disk."""


class UpdateVoterTimeout(Tagged, frozen=True):
    """V17. A voter is to tell its leader of itself."""


class AutoJoinTimeout(Tagged, frozen=True):
    """V24. Who is no voter is to ask to be one."""


class UpgradeKraftVersion(Tagged, frozen=True):
    """V23. An administrator asks for kraft.version 1."""


class ChangeListeners(Tagged, frozen=True):
    """V17. A controller that is down is given other listeners."""


Change: TypeAlias = AddVoter | RemoveVoter
OfNode: TypeAlias = VoterChangeTimeout | FetchFromBootstrap | ReplaceDisk
ByItself: TypeAlias = UpdateVoterRequest | UpdateVoterResponse | AddVoterRequest | AddVoterResponse
Option: TypeAlias = UpdateVoterTimeout | AutoJoinTimeout | UpgradeKraftVersion | ChangeListeners
Input: TypeAlias = quorum.Input | FetchResponse | Change | OfNode | ByItself | Option

_of_quorum: tuple[type[Any], ...] = quorum.INPUTS
_taken = tuple([FetchResponse if of is quorum.FetchResponse else of for of in _of_quorum])
_messages = len(quorum.MESSAGES)
MESSAGES: tuple[type[Any], ...] = (*_taken[:_messages], *get_args(ByItself))
OF_OPTIONS: tuple[type[Any], ...] = (*get_args(ByItself), *get_args(Option))
"""What comes only where kraft.version is upgraded, or voters join by themselves or move."""
INPUTS: tuple[type[Any], ...] = (
    *MESSAGES,
    *_taken[_messages:],
    *get_args(Change),
    *get_args(OfNode),
    *get_args(Option),
)
