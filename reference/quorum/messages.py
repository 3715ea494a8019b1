"""What a node receives: messages of its peers, and all other inputs.

Law of this file: values only. The names, and the fields in their order, are those of
specs/quorum/QuorumHandlers.tla in snake case; the tag `type` is the spec's. A response carries the
request that it answers, where Kafka matches correlation ids (Q22).

Every value is immutable and hashable, equal by content, and encodes to the same bytes in every
process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, TypeVar

import msgspec

from reference.kit.fields import Address, Node, NodeOrNobody, Value
from reference.kit.log import UNDEFINED, EpochEnd, Log

NO_DIVERGENCE = EpochEnd(UNDEFINED, UNDEFINED)

Error: TypeAlias = Literal[
    "NONE",
    "INVALID_REQUEST",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "NOT_LEADER_OR_FOLLOWER",
]


class _Tagged(msgspec.Struct, frozen=True, gc=False, cache_hash=True, tag=True, tag_field="type"):
    """Tagged with the name of the class. The hash is kept, because steps are memoised by input."""


class VoteRequest(_Tagged, frozen=True):
    """Q5. Asks for a standard vote, or for a pre-vote."""

    source: Address
    destination: Address
    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool


class VoteResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    error: Error
    epoch: int
    leader: NodeOrNobody
    granted: bool
    request: VoteRequest


class BeginQuorumEpochRequest(_Tagged, frozen=True):
    """Q10. The leader of `epoch` announces itself."""

    source: Address
    destination: Address
    epoch: int


class BeginQuorumEpochResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: BeginQuorumEpochRequest


class EndQuorumEpochRequest(_Tagged, frozen=True):
    """Q11. The leader of `epoch` resigns and names its successors, best first."""

    source: Address
    destination: Address
    epoch: int
    successors: tuple[Node, ...]


class EndQuorumEpochResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    error: Error
    epoch: int
    leader: NodeOrNobody
    request: EndQuorumEpochRequest


class FetchRequest(_Tagged, frozen=True):
    """Q12. Asks for what follows `fetch_offset`, where the asker's log ends."""

    source: Address
    destination: Address
    epoch: int
    fetch_offset: int
    last_fetched_epoch: int


class FetchResponse(_Tagged, frozen=True):
    """Q13, Q16. An error, a diverging epoch, or records (none when the wait was over)."""

    source: Address
    destination: Address
    error: Error
    epoch: int
    leader: NodeOrNobody
    records: Log
    diverging: EpochEnd
    high_watermark: int
    request: FetchRequest


class ElectionTimeout(_Tagged, frozen=True):
    """1.3. The election timer, or a lost candidate's back-off, is over."""


class FetchTimeout(_Tagged, frozen=True):
    """1.3. A follower has not heard from its leader for too long."""


class BeginQuorumEpochTimeout(_Tagged, frozen=True):
    """1.3. The leader is to announce itself again."""


class CheckQuorumTimeout(_Tagged, frozen=True):
    """Q15. The leader has not heard from a majority for too long."""


class Resign(_Tagged, frozen=True):
    """The leader is asked to step down."""


class RequestTimeout(_Tagged, frozen=True):
    """Q22. A request to `peer` timed out, or the back-off after an unhelpful response is over."""

    peer: Node


class FetchMaxWait(_Tagged, frozen=True):
    """Q12. The wait of a parked fetch is over."""

    request: FetchRequest


class Append(_Tagged, frozen=True):
    """A client's record for the leader's log."""

    value: Value


class Flush(_Tagged, frozen=True):
    """What was appended reaches the disk."""


class Crash(_Tagged, frozen=True):
    """The process stops; the log ends at `keep` afterwards, at or above what was flushed."""

    keep: int


class Restart(_Tagged, frozen=True):
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

REQUESTS = (VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest)
RESPONSES = (VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse, FetchResponse)
MESSAGES = (*REQUESTS, *RESPONSES)
TIMERS = (
    ElectionTimeout,
    FetchTimeout,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    RequestTimeout,
    FetchMaxWait,
)
INPUTS = (*MESSAGES, *TIMERS, Resign, Append, Flush, Crash, Restart)

_encoder = msgspec.msgpack.Encoder()
_message_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_input_decoder: msgspec.msgpack.Decoder[Input] = msgspec.msgpack.Decoder(Input)


def encode(value: Input) -> bytes:
    """Equal inputs give equal bytes, and different inputs different ones."""
    return _encoder.encode(value)


def decode_message(data: bytes) -> Message:
    return _message_decoder.decode(data)


def decode_input(data: bytes) -> Input:
    return _input_decoder.decode(data)


M = TypeVar("M", bound=Message)


def _order(message: Message) -> tuple[int, str, bytes]:
    return (message.destination, type(message).__name__, _encoder.encode(message))


def canonical(messages: Iterable[M]) -> tuple[M, ...]:
    """The set of these messages in its one order: by addressee, type, content.

    A tuple that is sorted by content stands for a set wherever two equal sets must encode to the
    same bytes. Given the same message twice it asserts: a step that sends one message twice is our
    mistake, since the spec's network would hold it once.
    """
    listed = tuple(messages)
    if len(listed) < 2:
        return listed
    assert len(set(listed)) == len(listed), f"sent twice: {listed}"
    return tuple(sorted(listed, key=_order))
