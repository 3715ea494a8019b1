"""What coordinators, partitions and producers receive: messages, and all other inputs.

Law of this file: values only. An answer without an error is a message of its own; one with an error
changes nothing anywhere, and is why a step is ignored. A message may be lost, doubled and late,
but answers are heard in the step that gives them or never: Kafka knows by its correlation id
whether somebody still waits for one.

Sets are sorted tuples. Every value is immutable and hashable, equal by content.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import Address, Node, Position, Rank, SetOf, Value

COORDINATOR: Final = 0
"""The transaction log with the coordinators that lead it."""
NO_CLIENT: Final = 0
"""Of a request that a partition's leader makes."""

Decision: TypeAlias = Literal["Commit", "Abort"]
Fatal: TypeAlias = Literal["PRODUCER_FENCED", "INVALID_TXN_STATE"]
TxnState: TypeAlias = Literal[
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"
]
Isolation: TypeAlias = Literal["read_committed", "read_uncommitted"]


class Input(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The tag is the name of the class."""


class Message(Input, frozen=True):
    source: Address
    destination: Address


# --- Requests


class InitProducerId(Message, frozen=True):
    """X6. An instance of the producer asks for an epoch."""

    client: int


class BumpEpoch(Message, frozen=True):
    """X7. InitProducerId of a producer that has an epoch, which it names (KIP-360)."""

    client: int
    epoch: Rank


class AddPartitions(Message, frozen=True):
    """X9.

    From a producer (version 1), or from a partition's leader (version 2). X28: of a partition that
    keeps offsets, AddOffsetsToTxn.
    """

    client: int
    partition: Node
    epoch: Rank
    behind: int
    """How many epochs of the transaction log the metadata is behind that it was sent by."""


class Verify(Message, frozen=True):
    """X10. A partition's leader asks whether the partition was added (version 1)."""

    partition: Node
    epoch: Rank
    behind: int


class EndTxn(Message, frozen=True):
    """X19, X20. txn is known to properties only."""

    client: int
    epoch: Rank
    decision: Decision
    txn: Value


class Produce(Message, frozen=True, order=True):
    """X11.

    The one batch that a transaction writes to a partition. X29: to one that keeps offsets,
    TxnOffsetCommit, of which there may be several.
    """

    client: int
    partition: Node
    epoch: Rank
    txn: Value
    sequence: Rank


class WriteTxnMarkers(Message, frozen=True):
    """X14."""

    partition: Node
    epoch: Rank
    decision: Decision
    coordinator_epoch: int


class ConsumerFetch(Message, frozen=True):
    """X18. Of the records behind offset, by a reader."""

    offset: Position
    isolation: Isolation


# --- Answers


class LogEntry(msgspec.Struct, frozen=True):
    """A record of a partition's log."""

    kind: Literal["Batch", "Marker"]
    txn: Value
    client: int
    epoch: Rank
    decision: Literal[Decision, "None"]
    sequence: Rank = -1
    """Of a batch."""


class AbortedTxn(msgspec.Struct, frozen=True, order=True):
    """An entry of the index of aborted transactions.

    first, last: which records of the log they are, from 1; the last is the marker.
    """

    first: Position
    last: Position


class Initialized(Message, frozen=True):
    epoch: Rank


class PartitionAdded(Message, frozen=True):
    """To a producer of version 1."""

    partition: Node


class Ended(Message, frozen=True):
    txn: Value
    epoch: Rank
    """Of the next transaction."""


class EndRefused(Message, frozen=True):
    """X36. The producer is unusable after it."""

    txn: Value
    error: Fatal


class Bumped(Message, frozen=True):
    was: Rank
    """The epoch that was named."""
    epoch: Rank


class Refused(Message, frozen=True):
    """X36. To a producer that hears every error, but for those after which it asks again."""

    request: InitProducerId | BumpEpoch | AddPartitions | EndTxn | Produce
    error: str


class NotAllowed(Message, frozen=True):
    """To a partition's leader: batches of this epoch are refused."""

    epoch: Rank
    error: str


class Fetched(Message, frozen=True):
    """X18."""

    offset: Position
    records: tuple[LogEntry, ...]
    """Behind offset."""
    aborted: SetOf[AbortedTxn]
    """Of committed reads, the transactions among them."""


class Allowed(Message, frozen=True):
    """To a partition's leader: batches of this epoch may be appended."""

    epoch: Rank


class Produced(Message, frozen=True):
    txn: Value
    partition: Node
    sequence: Rank


class MarkerReply(Message, frozen=True):
    marker: WriteTxnMarkers


# --- What comes to the transaction log and its coordinators by itself


class TxnRecord(msgspec.Struct, frozen=True, order=True):
    """Of the transaction log."""

    state: TxnState
    epoch: Rank
    partitions: SetOf[Node]
    leader_epoch: int
    """Of the coordinator that wrote it."""


class Tail(msgspec.Struct, frozen=True, order=True):
    """What a replica's log has after the last committed record."""

    records: tuple[TxnRecord, ...]


class Acknowledged(Input, frozen=True):
    """The high watermark reaches the record."""


class AppendTimeout(Input, frozen=True):
    """X3. It did not in time."""


class TransactionTimeout(Input, frozen=True):
    """X26."""


class ListTimedOut(Input, frozen=True):
    """X26. A sweep lists the transaction among those that are over their timeout."""


class AbortListed(Input, frozen=True):
    """X26. Its turn has come."""


class Fence(Input, frozen=True):
    """X8, the second lock."""


class MarkersAgain(Input, frozen=True):
    """X22. Those that nobody has acknowledged."""


class MarkerRefused(Input, frozen=True):
    """X22. A partition answers its marker with an error that is none of an epoch."""

    partition: Node


class MarkersDone(Input, frozen=True):
    """X25."""


class Elect(Input, frozen=True):
    """Another replica leads the transaction log."""

    tail: Tail
    """What its log has."""


class Loaded(Input, frozen=True):
    """X4. The new leader has read its log."""


class Expire(Input, frozen=True):
    """X27. The transactional id is forgotten."""


class LoseLeader(Input, frozen=True):
    """Of a data partition, as metadata says."""

    partition: Node


class FindLeader(Input, frozen=True):
    partition: Node


# --- What comes to a partition's leader, and to a producer


class Verification(msgspec.Struct, frozen=True, order=True):
    """A batch that waits for the coordinator or has its answer."""

    request: Produce
    guarded: bool
    """No other guard has replaced the one that it came with."""
    answered: bool


class Ask(Input, frozen=True):
    """X11b."""

    verification: Verification
    behind: int
    """As of AddPartitions."""


class Verified(Input, frozen=True):
    """X11c."""

    verification: Verification


class Replicate(Input, frozen=True):
    """The other replica fetches all that it has not."""


class ChangeLeader(Input, frozen=True):
    """The other replica leads the partition."""


class Sweep(Input, frozen=True):
    """X16. Producers that have expired are forgotten."""


class ApplyMarker(Input, frozen=True):
    """X30. The group applies what was decided, if it has not at once."""


class Send(Input, frozen=True):
    partition: Node
    txn: Value
    """The number of a transaction that begins with it."""


class SendMore(Input, frozen=True):
    """A producer sends a further batch to a partition, and waits for no answer before it."""

    partition: Node


class Commit(Input, frozen=True):
    """A producer ends its transaction."""


class Abort(Input, frozen=True):
    pass


class GiveUp(Input, frozen=True):
    """X36.

    A batch was not answered in time (delivery.timeout.ms); offsets were refused by their group.
    """

    partition: Node


class Poll(Input, frozen=True):
    """A reader asks for what comes next."""

    partition: Node


class Initialize(Input, frozen=True):
    """An instance of the producer starts, or asks for its epoch again."""


class Retry(Input, frozen=True):
    """X33. What nobody has answered is sent again."""


ANSWERS: Final = (
    *(Initialized, Bumped, PartitionAdded, Ended, EndRefused, Refused, Allowed, NotAllowed),
    *(Produced, MarkerReply, Fetched),
)
MESSAGES: Final = (
    *(InitProducerId, BumpEpoch, AddPartitions, Verify, EndTxn, Produce, WriteTxnMarkers),
    ConsumerFetch,
    *ANSWERS,
)
COORDINATOR_INPUTS: Final = (
    *(InitProducerId, BumpEpoch, AddPartitions, Verify, EndTxn, MarkerReply, Acknowledged),
    *(AppendTimeout, TransactionTimeout, Fence, MarkersAgain, MarkersDone, Expire, Elect, Loaded),
    *(LoseLeader, FindLeader, ListTimedOut, AbortListed, MarkerRefused),
)
PARTITION_INPUTS: Final = (
    *(Produce, Ask, Allowed, NotAllowed, Verified, WriteTxnMarkers, ConsumerFetch),
    *(Replicate, ChangeLeader, Sweep, ApplyMarker),
)
PRODUCER_INPUTS: Final = (
    *(Send, PartitionAdded, Produced, Commit, Abort, Ended, EndRefused, Refused, GiveUp, Retry),
    *(Initialize, Initialized, Bumped, SendMore),
)
READER_INPUTS: Final = (Poll, Fetched)
