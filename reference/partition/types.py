"""The state of a broker, as far as one partition is concerned, and of the partition's controller.

Law of this file: values only. `BrokerRow` is the row of specs/partition/PartitionRow.tla and
`ControllerRow` that of specs/partition/PartitionController.tla, the same fields in the same order
in snake case, and nothing else: no clock, deadline, correlation id or statistic (L1).

Where the spec has a set, a row has a sorted tuple; where the spec has a function on brokers, a row
has a tuple aligned with the sorted brokers. So equal states are equal values, hash alike and encode
to the same bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import (
    AtLeastOne,
    ByNode,
    Node,
    NodeOrNobody,
    Position,
    Rank,
    SetOf,
)
from kraftcheck.reference.partition.log import (
    CORRUPT as CORRUPT,
    GONE as GONE,
    NO_DIVERGENCE as NO_DIVERGENCE,
    UNDEFINED as UNDEFINED,
    Batch as Batch,
    CacheEntry as CacheEntry,
    EpochCache as EpochCache,
    EpochEnd as EpochEnd,
    Producers as Producers,
    ProducerState as ProducerState,
    Record as Record,
    RecordLog as RecordLog,
)
from kraftcheck.reference.partition.messages import (
    CLIENTS as CLIENTS,
    CONTROLLER as CONTROLLER,
    METADATA_LOG as METADATA_LOG,
    NO_REQUEST as NO_REQUEST,
    NOBODY as NOBODY,
    AlterPartitionRequest,
    BrokerState as BrokerState,
    DeleteRecordsRequest,
    HeartbeatRequest,
    Member as Member,
    Message,
    NoRequest,
    Partition as Partition,
    ProduceRequest,
    RegisterBrokerRequest,
    ReplicaFetchRequest,
)

Status: TypeAlias = Literal["Starting", "Running", "ShuttingDown", "Down"]
PartitionRole: TypeAlias = Literal["None", "Leader", "Follower"]
Kind: TypeAlias = Literal["None", "Expand", "Shrink"]


@lru_cache(maxsize=256)
def _sorted(brokers: tuple[int, ...], _kind: str) -> tuple[int, ...]:
    """Asked for at every step. _kind: of a broker, since numbers with names are equal to others."""
    return tuple(sorted(brokers))


class PartitionConstants(msgspec.Struct, frozen=True, tag="partition", tag_field="protocol"):
    """The constants of specs/partition/PartitionRules.tla.

    Not decisions that a bug may replace: properties use them.
    """

    replicas: tuple[Node, ...]
    """The brokers that hold the partition, in assignment order."""
    min_insync_replicas: AtLeastOne
    """min.insync.replicas of the topic."""
    elr_enabled: bool = True
    """eligible.leader.replicas.version = 1 (KIP-966)."""
    unclean_election: bool = False
    """unclean.leader.election.enable."""
    fetch_max_records: AtLeastOne = 2
    """How many records one fetch response carries at most."""

    def __post_init__(self) -> None:
        assert self.replicas, "a partition has replicas"
        assert len(set(self.replicas)) == len(self.replicas), "a replica is listed once"
        assert min(self.replicas) >= 0, "-1 is nobody, and below are those that are no brokers"
        assert self.min_insync_replicas > 0, "somebody must be in sync"
        assert self.fetch_max_records > 0, "a fetch that carries nothing makes no progress"

    @property
    def brokers(self) -> tuple[int, ...]:
        """Sorted: what tuples by broker are aligned with."""
        return _sorted(self.replicas, type(self.replicas[0]).__name__)

    @property
    def effective_min_isr(self) -> int:
        """KIP-966: never more copies than there are replicas."""
        return min(self.min_insync_replicas, len(self.replicas))


# --- What a broker's row consists of


class Image(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """The metadata that a broker has applied."""

    offset: Position
    """Where the metadata log goes on."""
    brokers: ByNode[BrokerState]
    """By the position of the broker."""
    partition: Partition


class Remote(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a leader knows of another replica."""

    end_offset: int
    broker_epoch: Rank
    caught_up: bool
    log_start: int = 0
    """S9. 0 as well where nothing is known of it."""


UNKNOWN_REMOTE = Remote(UNDEFINED, UNDEFINED, caught_up=False)


class Pending(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A change of the ISR that the leader proposes."""

    kind: Kind
    isr: SetOf[Member]
    """Sorted by broker."""
    refused: bool
    """For good: metadata will say why."""


NO_PENDING = Pending("None", (), refused=False)


class Parked(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A request that waits in the purgatory.

    One to produce waits until the high watermark is `required`, one to delete records until the low
    watermark is.
    """

    request: ProduceRequest | DeleteRecordsRequest
    offset: int
    required: int


class BrokerRow(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The whole state of one broker as far as one partition is concerned."""

    status: Status
    incarnation: int
    """Counts starts; stands for Kafka's random id."""
    broker_epoch: Rank
    """Of this incarnation, -1 until registered."""
    previous_epoch: Rank
    """What the clean-shutdown file said at start."""
    clean_shutdown: Rank
    """Durable: .kafka_cleanshutdown, -1 when absent."""
    image: Image
    controller_request: NoRequest | RegisterBrokerRequest | HeartbeatRequest
    """In flight to the controller."""
    alter_request: NoRequest | AlterPartitionRequest
    log: RecordLog
    """Durable up to `flushed`, as is `log_start`."""
    log_start: int
    flushed: int
    corrupt: int
    """Durable: offset of the first bad batch, or -1."""
    epoch_cache: EpochCache
    """Durable: leader-epoch-checkpoint."""
    checkpoint: int
    """Durable: replication-offset-checkpoint."""
    producers: SetOf[ProducerState]
    """Sorted by producer."""
    high_watermark: int
    role: PartitionRole
    leader: NodeOrNobody
    """As this replica knows it, as are the epochs."""
    leader_epoch: int
    partition_epoch: int
    epoch_start: int
    """Leader: where its epoch begins."""
    isr: SetOf[Node]
    """Leader: the committed ISR, sorted."""
    pending: Pending
    """Leader: the proposed change."""
    remotes: ByNode[Remote]
    """Leader: what it knows of each other replica, by the position of the broker."""
    parked: SetOf[Parked]
    """Leader: produce requests that wait, sorted by offset, end, and content of the request."""
    last_fetched_epoch: int
    """Follower: kept apart from the cache (KAFKA-15510)."""
    fetching: SetOf[ReplicaFetchRequest]
    """Follower: fetches in flight, one for each leader, sorted by leader."""


# --- What the controller's row consists of


class Registration(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What the controller knows of a broker."""

    epoch: Rank
    incarnation: int
    record_offset: Position
    fenced: bool
    stopping: bool


class Contact(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Soft state of the controller: a broker's session."""

    live: bool
    metadata_offset: Position
    """What the broker last said that it has applied."""
    shutdown_offset: Position


class ControllerRow(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The whole state of the controller as far as one partition is concerned."""

    registrations: ByNode[Registration]
    """By the position of the broker."""
    partition: Partition
    offset: Position
    """The end of the metadata log."""
    contacts: ByNode[Contact]
    """By the position of the broker."""


class BrokerOutcome(msgspec.Struct, frozen=True, gc=False):
    """What one step of a broker makes: the new row, what was sent, and why an input was ignored.

    `sent` is in the order of `kit.messages.canonical`: sorted, nothing twice.
    """

    row: BrokerRow
    sent: tuple[Message, ...]
    ignored: str


class ControllerOutcome(msgspec.Struct, frozen=True, gc=False):
    """The same of the controller."""

    row: ControllerRow
    sent: tuple[Message, ...]
    ignored: str


# --- The first states. A cluster begins registered and unfenced, with one partition whose replicas
# --- are all in sync. The records that say so are the first of the metadata log.

INITIAL_OFFSET = 1


def initial_partition(constants: PartitionConstants) -> Partition:
    return Partition(
        leader=NOBODY,
        leader_epoch=0,
        partition_epoch=0,
        isr=constants.brokers,
        elr=(),
        last_known_leader=NOBODY,
        recovering=False,
    )


def initial_image(constants: PartitionConstants) -> Image:
    known = BrokerState(epoch=0, fenced=False, stopping=False)
    return Image(INITIAL_OFFSET, (known,) * len(constants.replicas), initial_partition(constants))


def initial_row(constants: PartitionConstants) -> BrokerRow:
    """The first state of every broker: registered, and a follower of nobody."""
    return BrokerRow(
        status="Running",
        incarnation=0,
        broker_epoch=0,
        previous_epoch=UNDEFINED,
        clean_shutdown=UNDEFINED,
        image=initial_image(constants),
        controller_request=NO_REQUEST,
        alter_request=NO_REQUEST,
        log=(),
        log_start=0,
        flushed=0,
        corrupt=UNDEFINED,
        epoch_cache=(),
        checkpoint=0,
        producers=(),
        high_watermark=0,
        role="Follower",
        leader=NOBODY,
        leader_epoch=0,
        partition_epoch=0,
        epoch_start=UNDEFINED,
        isr=(),
        pending=NO_PENDING,
        remotes=(UNKNOWN_REMOTE,) * len(constants.replicas),
        parked=(),
        last_fetched_epoch=UNDEFINED,
        fetching=(),
    )


def initial_controller(constants: PartitionConstants) -> ControllerRow:
    registration = Registration(
        epoch=0, incarnation=0, record_offset=0, fenced=False, stopping=False
    )
    contact = Contact(live=True, metadata_offset=INITIAL_OFFSET, shutdown_offset=UNDEFINED)
    brokers = len(constants.replicas)
    return ControllerRow(
        registrations=(registration,) * brokers,
        partition=initial_partition(constants),
        offset=INITIAL_OFFSET,
        contacts=(contact,) * brokers,
    )


def is_up(row: BrokerRow) -> bool:
    return row.status != "Down"


def is_leader(row: BrokerRow) -> bool:
    return is_up(row) and row.role == "Leader"
