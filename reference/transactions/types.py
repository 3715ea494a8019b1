"""The rows of transactions, and what they begin as: values, with the names of the spec.

Law of this file: nothing is decided here. Rows are immutable and hashable.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import AtLeastOne, ByNode, Node, Position, Rank, SetOf, Value
from kraftcheck.reference.transactions.messages import (
    AddPartitions,
    BumpEpoch,
    Decision,
    EndTxn,
    InitProducerId,
    LogEntry as LogEntry,  # a record of a partition's row
    Tail,
    TxnRecord,
    TxnState,
    Verification,
)

UNKNOWN: Final = -1
"""No epoch, no sequence: Kafka's own sentinel."""

Pended: TypeAlias = Literal[TxnState, "None", "PrepareEpochFence"]
Status: TypeAlias = Literal[
    "Off",
    "Initializing",
    "Ready",
    "Open",
    "Ending",
    "Abortable",
    "Recovering",
    "Bumping",
    "Fenced",
    "Failed",
    "Unusable",
]


class Constants(msgspec.Struct, frozen=True, tag="transactions", tag_field="protocol"):
    """partitions, clients: their nodes, all above 0.

    read_committed, read_uncommitted: the nodes of consumers, by their isolation level.
    """

    partitions: SetOf[int]
    version: Literal[1, 2]
    """2 has an epoch for each transaction (KIP-890, part 2); 1: before it."""
    clients: SetOf[int]
    max_coordinators: AtLeastOne
    """How many epochs the transaction log has."""
    max_epoch: AtLeastOne = 32766
    """The last epoch that a producer is given."""
    hears_errors: bool = False
    """Whether producers note what ends their use, at the end of a transaction."""
    replicas: Literal[1, 2] = 1
    """Of each partition; with one its log is committed as it is written."""
    offsets: SetOf[Node] = ()
    """The partitions that keep the offsets of groups, of which there may be fewer."""
    recovers: bool = False
    """Whether they hear every error, and go on where they can (X36)."""
    ids_expire: bool = False
    """Whether the transactional id is forgotten when nobody uses it (X27)."""
    read_committed: SetOf[int] = ()
    read_uncommitted: SetOf[int] = ()
    markers_refused: bool = False
    """Whether partitions refuse markers for more than an epoch (X22)."""


# --- The transaction log and its coordinators


class NobodyAsks(msgspec.Struct, frozen=True, tag="None", tag_field="type"):
    """Nobody waits for a transition."""


class Txn(msgspec.Struct, frozen=True):
    """What a coordinator keeps of a record."""

    state: TxnState
    epoch: Rank
    partitions: SetOf[Node]


class PendingTxn(msgspec.Struct, frozen=True):
    """The transition that was begun."""

    state: Pended
    epoch: Rank
    partitions: SetOf[Node]
    logged: bool
    """Its record is in the log."""
    request: InitProducerId | BumpEpoch | AddPartitions | EndTxn | NobodyAsks
    """Who is answered."""


class Coordinator(msgspec.Struct, frozen=True, omit_defaults=True):
    """One coordinator in one epoch of the log (specs/transactions/TransactionCoordinator.tla)."""

    active: bool
    coordinator_epoch: int
    txn: Txn
    pending: PendingTxn
    to_mark: SetOf[Node]
    last_epoch: Rank = UNKNOWN
    """The epoch that the producer named when it was given its own, or UNKNOWN (KIP-360)."""
    listed: Rank = UNKNOWN
    """That of the transaction that a sweep has listed as over its timeout, or UNKNOWN."""


class TailLog(msgspec.Struct, frozen=True):
    """specs/common/TailLog.tla."""

    committed: TxnRecord
    leader: tuple[TxnRecord, ...]
    """What its log has after the committed record."""
    tails: SetOf[Tail]
    """What the log of any replica that may lead has; sorted."""


class Coordinators(msgspec.Struct, frozen=True):
    """The transaction log with its coordinators, by leader epoch from 1 on."""

    coordinators: tuple[Coordinator, ...]
    leader_epoch: int
    log: TailLog
    leaderless: SetOf[Node]
    """The data partitions that have no leader, as metadata says."""


NO_REQUEST: Final = NobodyAsks()
NOTHING_PENDING: Final = PendingTxn("None", UNKNOWN, (), False, NO_REQUEST)
INITIAL_RECORD: Final = TxnRecord("Empty", 0, (), 1)


def txn_of(record: TxnRecord | PendingTxn) -> Txn:
    # What is pended and has a record is a state of the transaction.
    return Txn(record.state, record.epoch, record.partitions)  # type: ignore[arg-type]


def no_coordinator(n: int) -> Coordinator:
    return Coordinator(False, n, txn_of(INITIAL_RECORD), NOTHING_PENDING, ())


def initial_coordinators(constants: Constants) -> Coordinators:
    first, *others = map(no_coordinator, range(1, constants.max_coordinators + 1))
    return Coordinators(
        coordinators=(msgspec.structs.replace(first, active=True), *others),
        leader_epoch=1,
        log=TailLog(INITIAL_RECORD, (), (Tail(()),)),
        leaderless=(),
    )


# --- A data partition


class Producer(msgspec.Struct, frozen=True):
    """What a log says of the producer."""

    epoch: Rank
    coordinator_epoch: int
    sequence: Rank
    """The next one; UNKNOWN: no batch is remembered."""
    open: bool


class NoFollower(msgspec.Struct, frozen=True, tag="None", tag_field="type"):
    """Of a partition with one replica."""


class Follower(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    """The other replica."""

    log: tuple[LogEntry, ...]
    """Up to the high watermark."""
    producer: Producer
    stable: Position
    """The last stable offset that the leader shows."""


NO_FOLLOWER: Final = NoFollower()


class SentOffsets(msgspec.Struct, frozen=True):
    """Offsets of a group, known by who sent them, and as which."""

    txn: Value
    sequence: Rank


class NoOffsets(msgspec.Struct, frozen=True, tag="None", tag_field="type"):
    """Of a partition of data."""


class KeptOffsets(msgspec.Struct, frozen=True, tag=True, tag_field="type"):
    committed: SentOffsets
    """Those that the group is told."""
    pending: SentOffsets
    """The last that the transaction at hand has sent."""
    marker: Literal[Decision, "None"]
    """What was decided of them and is not applied yet."""


NO_COMMIT: Final = SentOffsets(0, UNKNOWN)
NO_OFFSETS: Final = NoOffsets()
INITIAL_OFFSETS: Final = KeptOffsets(NO_COMMIT, NO_COMMIT, "None")


class PartitionLeader(msgspec.Struct, frozen=True):
    """The leader of a partition (specs/transactions/TransactionPartition.tla)."""

    log: tuple[LogEntry, ...]
    producer: Producer
    guard: Rank
    """The epoch of the one that stands here, or UNKNOWN."""
    verifying: SetOf[Verification]
    """sorted."""
    follower: Follower | NoFollower = NO_FOLLOWER
    offsets: KeptOffsets | NoOffsets = NO_OFFSETS


UNKNOWN_PRODUCER: Final = Producer(UNKNOWN, 0, UNKNOWN, False)
INITIAL_PARTITION: Final = PartitionLeader((), UNKNOWN_PRODUCER, UNKNOWN, ())


def initial_partition(constants: Constants) -> PartitionLeader:
    if constants.replicas == 1:
        return INITIAL_PARTITION
    return msgspec.structs.replace(INITIAL_PARTITION, follower=Follower((), UNKNOWN_PRODUCER, 0))


def initial_offsets_partition(constants: Constants) -> PartitionLeader:
    return msgspec.structs.replace(initial_partition(constants), offsets=INITIAL_OFFSETS)


def committed(row: PartitionLeader) -> PartitionLeader | Follower:
    """What has the log, and the producer's state, that no change of leaders takes back."""
    return row.follower if isinstance(row.follower, Follower) else row


def is_replicated(row: PartitionLeader) -> bool:
    kept = committed(row)
    return kept.log == row.log and kept.producer == row.producer


# --- A producer


class Client(msgspec.Struct, frozen=True):
    """One instance of the producer (specs/transactions/TransactionClient.tla)."""

    status: Status
    epoch: Rank
    txn: Value
    sent: SetOf[Node]
    added: SetOf[Node]
    acked: SetOf[Node]
    sequences: ByNode[Rank]
    decision: Literal[Decision, "None"]


def initial_client(constants: Constants, status: Status) -> Client:
    return Client(status, 0, 0, (), (), (), (0,) * len(constants.partitions), "None")


# --- A reader


class Read(msgspec.Struct, frozen=True):
    position: Position
    """How many records of a partition a reader has got past."""
    shown: SetOf[Position]
    """Which of them, from 1, its application has seen."""


class Reader(msgspec.Struct, frozen=True):
    """A consumer (specs/transactions/TransactionReader.tla)."""

    read: ByNode[Read]


def initial_reader(constants: Constants) -> Reader:
    return Reader((Read(0, ()),) * len(constants.partitions))
