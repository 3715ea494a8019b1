"""What a controller receives where the voters change: what a voter does, and requests for changes.

Law of this file: values only, named as in specs/voters/VoterChanges.tla.
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from reference.kit.fields import Node
from reference.kit.messages import Tagged
from reference.quorum import messages as quorum
from reference.voters.types import VotersLog


class FetchResponse(quorum.FetchResponse, frozen=True):
    """Q13, Q16. As the quorum's, of records that may have sets of voters."""

    records: VotersLog


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


Change: TypeAlias = AddVoter | RemoveVoter
OfNode: TypeAlias = VoterChangeTimeout | FetchFromBootstrap | ReplaceDisk
Input: TypeAlias = quorum.Input | FetchResponse | Change | OfNode

_of_quorum: tuple[type[Any], ...] = quorum.INPUTS
INPUTS: tuple[type[Any], ...] = (
    *(FetchResponse if of is quorum.FetchResponse else of for of in _of_quorum),
    *get_args(Change),
    *get_args(OfNode),
)
MESSAGES: tuple[type[Any], ...] = INPUTS[: len(quorum.MESSAGES)]
