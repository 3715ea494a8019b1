"""What a node receives: messages of its peers, and all other inputs.

Law of this file: values only. The names, and the fields in their order, are those of
specs/quorum/QuorumHandlers.tla in snake case; the tag `type` is the spec's. A response carries the
request that it answers, where Kafka matches correlation ids (Q22).

Every value is immutable and hashable, equal by content, and encodes to the same bytes in every
process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from kraftcheck.reference.kit.fields import Node, NodeOrNobody, Value
from kraftcheck.reference.kit.log import UNDEFINED, EpochEnd, Log
from kraftcheck.reference.kit.messages import Addressed, Tagged, canonical as of_set

NO_DIVERGENCE = EpochEnd(UNDEFINED, UNDEFINED)

Error: TypeAlias = Literal[
    "NONE",
    "INVALID_REQUEST",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
]


class VoteRequest(Addressed, frozen=True):
    """Q5. Asks for a standard vote, or for a pre-vote."""

    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool


class VoteResponse(Addressed, frozen=True):
    error: Error
    epoch: int
    leader: NodeOrNobody
    granted: bool
    request: VoteRequest


class BeginQuorumEpochRequest(Addressed, frozen=True):
    """Q10. The leader of `epoch` announces itself."""

    epoch: int


class BeginQuorumEpochResponse(Addressed, frozen=True):
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: BeginQuorumEpochRequest


class EndQuorumEpochRequest(Addressed, frozen=True):
    """Q11. The leader of `epoch` resigns and names its successors, best first."""

    epoch: int
    successors: tuple[Node, ...]


class EndQuorumEpochResponse(Addressed, frozen=True):
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: EndQuorumEpochRequest


class FetchRequest(Addressed, frozen=True):
    """Q12. Asks for what follows `fetch_offset`, where the asker's log ends."""

    epoch: int
    fetch_offset: int
    last_fetched_epoch: int


class FetchResponse(Addressed, frozen=True):
    """Q13, Q16. An error, a diverging epoch, or records (none when the wait was over)."""

    error: Error
    epoch: int
    leader: NodeOrNobody
    records: Log
    diverging: EpochEnd
    high_watermark: int
    request: FetchRequest


class ElectionTimeout(Tagged, frozen=True):
    """1.3. The election timer, or a lost candidate's back-off, is over."""


class FetchTimeout(Tagged, frozen=True):
    """1.3. A follower has not heard from its leader for too long."""


class BeginQuorumEpochTimeout(Tagged, frozen=True):
    """1.3. The leader is to announce itself again."""


class CheckQuorumTimeout(Tagged, frozen=True):
    """Q15. The leader has not heard from a majority for too long."""


class Resign(Tagged, frozen=True):
    """A request that the leader step down."""


class RequestTimeout(Tagged, frozen=True):
    """Q22. A request to `peer` timed out, or the back-off after an unhelpful response is over."""

    peer: Node


class FetchMaxWait(Tagged, frozen=True):
    """Q12. The wait of a parked fetch is over."""

    request: FetchRequest


class Append(Tagged, frozen=True):
    """A client's record for the leader's log."""

    value: Value


class Flush(Tagged, frozen=True):
    """What was appended reaches the disk."""


class Crash(Tagged, frozen=True):
    """The process stops; the log ends at `keep` afterwards, at or above what was flushed."""

    keep: int


class Restart(Tagged, frozen=True):
    """The process starts again from what is on disk."""


Request: TypeAlias = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
Response: TypeAlias = (
    VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse
)
Message: TypeAlias = Request | Response
Timer: TypeAlias = (
    ElectionTimeout
    | FetchTimeout
    | BeginQuorumEpochTimeout
    | CheckQuorumTimeout
    | RequestTimeout
    | FetchMaxWait
)
Input: TypeAlias = Message | Timer | Resign | Append | Flush | Crash | Restart

REQUESTS: tuple[type[Any], ...] = get_args(Request)
RESPONSES: tuple[type[Any], ...] = get_args(Response)
MESSAGES: tuple[type[Any], ...] = get_args(Message)
TIMERS: tuple[type[Any], ...] = get_args(Timer)
INPUTS: tuple[type[Any], ...] = get_args(Input)

M = TypeVar("M", bound=Message)


def canonical(messages: Iterable[M]) -> tuple[M, ...]:
    """As the kit's.

    Given the same message twice it asserts: a step that sends one message twice is our mistake,
    since the spec's network would hold it once.
    """
    listed = tuple(messages)
    assert len(set(listed)) == len(listed), f"sent twice: {listed}"
    return of_set(listed)
