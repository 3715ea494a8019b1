"""What a broker and the partition controller receive: messages, and all other inputs.

Law of this file: values only. The names, and the fields in their order, are those of the
specifications of the partition in snake case; the tag `type` is the spec's. A response carries the
request that it answers, where Kafka matches correlation ids.

Sets are sorted tuples without repetition. Every value is immutable and hashable, equal by content,
and encodes to the same bytes in every process.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from reference.kit.fields import Address, Node, NodeOrNobody, Position, Rank, SetOf, Value
from reference.partition.log import EpochEnd, RecordLog

NOBODY = -1
"""Kafka's own sentinel: no leader."""
CONTROLLER = -2
"""The active controller."""
CLIENTS = -3
"""All clients together; messages name the one."""
METADATA_LOG = -4
"""The log of committed metadata records."""

Election: TypeAlias = Literal["PREFERRED", "UNCLEAN", "ONLINE"]
Timestamp: TypeAlias = Literal["Latest", "Earliest"]


# --- What metadata consists of


class Member(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A member of a proposed ISR, with the broker epoch that it is known by (-1: unknown)."""

    broker: Node
    epoch: Rank


class Partition(msgspec.Struct, frozen=True, gc=False, array_like=True, cache_hash=True):
    """The partition as the controller decides it."""

    leader: NodeOrNobody
    leader_epoch: int
    partition_epoch: int
    isr: SetOf[Node]
    """Sorted."""
    elr: SetOf[Node]
    """Sorted: who may lead without loss although it left the ISR (KIP-966)."""
    last_known_leader: NodeOrNobody
    recovering: bool


class BrokerState(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What metadata says of a broker."""

    epoch: Rank
    fenced: bool
    stopping: bool


class _Kind(msgspec.Struct, frozen=True, gc=False, cache_hash=True, tag_field="kind"):
    """A record of the metadata log."""


class BrokerRecord(_Kind, frozen=True, tag="Broker"):
    broker: Node
    registration: BrokerState


class PartitionRecord(_Kind, frozen=True, tag="Partition"):
    partition: Partition


MetadataRecord: TypeAlias = BrokerRecord | PartitionRecord


# --- Messages


class _Tagged(msgspec.Struct, frozen=True, gc=False, cache_hash=True, tag=True, tag_field="type"):
    """Tagged with the name of the class. The hash is kept, because steps are memoised by input."""


class NoRequest(_Tagged, frozen=True, tag="None"):
    """Nothing is in flight."""


NO_REQUEST = NoRequest()


class RegisterBrokerRequest(_Tagged, frozen=True):
    """C2. An incarnation asks for a broker epoch."""

    source: Address
    destination: Address
    incarnation: int
    previous_epoch: Rank
    """C3. From the clean-shutdown file, -1 when there was none."""


class RegisterBrokerResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: RegisterBrokerRequest
    error: str
    broker_epoch: Rank


class HeartbeatRequest(_Tagged, frozen=True):
    """C5."""

    source: Address
    destination: Address
    broker_epoch: Rank
    metadata_offset: Position
    want_fence: bool
    want_shut_down: bool


class HeartbeatResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: HeartbeatRequest
    error: str
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class AlterPartitionRequest(_Tagged, frozen=True):
    """C12. The leader proposes an ISR."""

    source: Address
    destination: Address
    broker_epoch: Rank
    leader_epoch: int
    partition_epoch: int
    isr: SetOf[Member]
    """Sorted by broker."""
    recovering: bool


class AlterPartitionResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: AlterPartitionRequest
    error: str
    leader: NodeOrNobody
    leader_epoch: int
    partition_epoch: int
    isr: SetOf[Node]
    """Sorted."""


class MetadataRecords(_Tagged, frozen=True):
    """A batch for the metadata log, which begins at `offset` there."""

    source: Address
    destination: Address
    offset: Position
    records: tuple[MetadataRecord, ...]


class ReplicaFetchRequest(_Tagged, frozen=True):
    """P4. A follower asks for what follows the end of its log."""

    source: Address
    destination: Address
    broker_epoch: Rank
    epoch: int
    """The leader epoch that the follower knows."""
    fetch_offset: int
    last_fetched_epoch: int


class ReplicaFetchResponse(_Tagged, frozen=True):
    """P4, P13. An error, a diverging epoch, or records (perhaps none)."""

    source: Address
    destination: Address
    request: ReplicaFetchRequest
    error: str
    records: RecordLog
    diverging: EpochEnd
    high_watermark: int
    log_start: int
    end_offset: int
    """The leader's, where the fetch was out of range; -1 otherwise."""


class ProduceRequest(_Tagged, frozen=True):
    """P17, T1. One batch. Without idempotence the last three are -1."""

    source: Address
    destination: Address
    client: int
    acks: int
    values: tuple[Value, ...]
    producer: int
    producer_epoch: int
    sequence: int
    """Of the first record."""


class ProduceResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: ProduceRequest
    error: str
    offset: int
    """Of the first record, -1 with an error."""


class ConsumerFetchRequest(_Tagged, frozen=True):
    """P20."""

    source: Address
    destination: Address
    client: int
    epoch: int
    """The leader epoch that the consumer knows, -1 when it knows none."""
    fetch_offset: int
    from_follower: bool
    """KIP-392: a follower may answer."""


class ConsumerFetchResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: ConsumerFetchRequest
    error: str
    records: RecordLog
    high_watermark: int
    log_start: int


class ListOffsetsRequest(_Tagged, frozen=True):
    """P21."""

    source: Address
    destination: Address
    client: int
    epoch: int
    timestamp: Timestamp


class ListOffsetsResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: ListOffsetsRequest
    error: str
    offset: int


class DeleteRecordsRequest(_Tagged, frozen=True):
    """S9. The log is to start at `offset`."""

    source: Address
    destination: Address
    client: int
    offset: int


class DeleteRecordsResponse(_Tagged, frozen=True):
    source: Address
    destination: Address
    request: DeleteRecordsRequest
    error: str
    offset: int
    """Where the log starts now, -1 with an error."""


# --- Other inputs of the controller


class SessionTimeout(_Tagged, frozen=True):
    """C5. The broker's session is over."""

    broker: Node


class ElectLeaders(_Tagged, frozen=True):
    """C9. An administrator, or the leader balancer, asks for an election."""

    election: Election


class ControllerFailover(_Tagged, frozen=True):
    """Another controller takes over."""


# --- Other inputs of a broker


class MetadataUpdate(_Tagged, frozen=True):
    """P1. Committed metadata from `offset` on, as many records as were read at once."""

    offset: Position
    records: tuple[MetadataRecord, ...]


class SendRegistration(_Tagged, frozen=True):
    """C2. The broker asks to be registered."""


class SendHeartbeat(_Tagged, frozen=True):
    """C5. The broker's heartbeat is due."""


class ControllerRequestTimeout(_Tagged, frozen=True):
    """A request to the controller will not be answered any more."""

    request: NoRequest | RegisterBrokerRequest | HeartbeatRequest | AlterPartitionRequest


class ControlledShutdown(_Tagged, frozen=True):
    """P22. The broker is to stop cleanly."""


class BrokerCrash(_Tagged, frozen=True):
    """P23. The process stops. Its log ends at `keep`, and from `corrupt` on it is unreadable."""

    keep: int
    corrupt: int
    """-1: nothing is."""


class BrokerRestart(_Tagged, frozen=True):
    """P23. The process starts again from what is on disk."""


class ReplicaLagTimeout(_Tagged, frozen=True):
    """P10. The replica has not been caught up for too long."""

    replica: Node


class IsrShrinkTimeout(_Tagged, frozen=True):
    """P10. The periodic look at the ISR is due."""


class SendAlterPartition(_Tagged, frozen=True):
    """P11. What is proposed is sent."""


class ProduceTimeout(_Tagged, frozen=True):
    """P19. The wait of a produce request is over."""

    request: ProduceRequest


class SendReplicaFetch(_Tagged, frozen=True):
    """P4. A follower asks its leader."""


class ReplicaFetchTimeout(_Tagged, frozen=True):
    """A fetch will not be answered any more."""

    request: ReplicaFetchRequest


class BrokerFlush(_Tagged, frozen=True):
    """S4. What was appended reaches the disk."""


class CheckpointHighWatermark(_Tagged, frozen=True):
    """S5. The high watermark is written to its checkpoint."""


ControllerRequest: TypeAlias = RegisterBrokerRequest | HeartbeatRequest | AlterPartitionRequest
ClientRequest: TypeAlias = (
    ProduceRequest | ConsumerFetchRequest | ListOffsetsRequest | DeleteRecordsRequest
)
ClientResponse: TypeAlias = (
    ProduceResponse | ConsumerFetchResponse | ListOffsetsResponse | DeleteRecordsResponse
)
ControllerResponse: TypeAlias = RegisterBrokerResponse | HeartbeatResponse | AlterPartitionResponse
Message: TypeAlias = (
    ControllerRequest
    | ControllerResponse
    | MetadataRecords
    | ReplicaFetchRequest
    | ReplicaFetchResponse
    | ClientRequest
    | ClientResponse
)
BrokerInput: TypeAlias = (
    ControllerResponse
    | ReplicaFetchRequest
    | ReplicaFetchResponse
    | ClientRequest
    | MetadataUpdate
    | SendRegistration
    | SendHeartbeat
    | ControllerRequestTimeout
    | ControlledShutdown
    | BrokerCrash
    | BrokerRestart
    | ReplicaLagTimeout
    | IsrShrinkTimeout
    | SendAlterPartition
    | ProduceTimeout
    | SendReplicaFetch
    | ReplicaFetchTimeout
    | BrokerFlush
    | CheckpointHighWatermark
)
ControllerInput: TypeAlias = ControllerRequest | SessionTimeout | ElectLeaders | ControllerFailover
Input: TypeAlias = BrokerInput | ControllerInput

BROKER_INPUTS: tuple[type[Any], ...] = get_args(BrokerInput)
CONTROLLER_INPUTS: tuple[type[Any], ...] = get_args(ControllerInput)
CONTROLLER_REQUESTS = (RegisterBrokerRequest, HeartbeatRequest, AlterPartitionRequest)
CONTROLLER_RESPONSES = (RegisterBrokerResponse, HeartbeatResponse, AlterPartitionResponse)
CLIENT_REQUESTS = (ProduceRequest, ConsumerFetchRequest, ListOffsetsRequest, DeleteRecordsRequest)
CLIENT_RESPONSES = (
    ProduceResponse,
    ConsumerFetchResponse,
    ListOffsetsResponse,
    DeleteRecordsResponse,
)
MESSAGES = (
    *CONTROLLER_REQUESTS,
    *CONTROLLER_RESPONSES,
    MetadataRecords,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    *CLIENT_REQUESTS,
    *CLIENT_RESPONSES,
)

_encoder = msgspec.msgpack.Encoder()
_message_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)
_input_decoder: msgspec.msgpack.Decoder[Input] = msgspec.msgpack.Decoder(Input)


def encode(value: Input | Message) -> bytes:
    """Equal values give equal bytes, and different ones different ones."""
    return _encoder.encode(value)


def decode_message(data: bytes) -> Message:
    return _message_decoder.decode(data)


def decode_input(data: bytes) -> Input:
    return _input_decoder.decode(data)


def _order(message: Message) -> tuple[int, str, bytes]:
    return (message.destination, type(message).__name__, _encoder.encode(message))


def canonical(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The set of these messages in its one order: by addressee, type, content.

    A message that is given twice stands once, as in the spec: two waiting copies of one produce
    request are told of an error once.
    """
    listed = tuple(messages)
    if len(listed) < 2:
        return listed
    if len(listed) == 2:
        one, other = listed
        # Mostly they differ in the first two, and need not be encoded.
        first = (one.destination, type(one).__name__)
        second = (other.destination, type(other).__name__)
        if first != second:
            return listed if first < second else (other, one)
    return tuple(sorted(set(listed), key=_order))
