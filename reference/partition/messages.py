"""What a broker and the partition controller receive: messages, and all other inputs.

Law of this file: values only. The names, and the fields in their order, are those of the
specifications of the partition in snake case; the tag `type` is the spec's. A response carries the
request that it answers, where Kafka matches correlation ids.

Sets are sorted tuples without repetition. Every value is immutable and hashable, equal by content,
and encodes to the same bytes in every process.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import msgspec

from kraftcheck.reference.kit.fields import Node, NodeOrNobody, Position, Rank, SetOf, Value
from kraftcheck.reference.kit.messages import Addressed, Tagged
from kraftcheck.reference.partition.log import EpochEnd, RecordLog

NOBODY = -1
"""Kafka's own sentinel: no leader."""
CONTROLLER = -2
"""The active controller."""
CLIENTS = -3
"""All clients together; messages name the one."""
METADATA_LOG = -4
"""The log of committed metadata records."""
DEPOSED = -5
"""A controller that was replaced and has not heard of it. It is addressed as the controller is."""

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


class NoRequest(Tagged, frozen=True, tag="None"):
    """Nothing is in flight."""


NO_REQUEST = NoRequest()


class RegisterBrokerRequest(Addressed, frozen=True):
    """C2. An incarnation asks for a broker epoch."""

    incarnation: int
    previous_epoch: Rank
    """C3. From the clean-shutdown file, -1 when there was none."""


class RegisterBrokerResponse(Addressed, frozen=True):
    request: RegisterBrokerRequest
    error: str
    broker_epoch: Rank


class HeartbeatRequest(Addressed, frozen=True):
    """C5."""

    broker_epoch: Rank
    metadata_offset: Position
    want_fence: bool
    want_shut_down: bool


class HeartbeatResponse(Addressed, frozen=True):
    request: HeartbeatRequest
    error: str
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class AlterPartitionRequest(Addressed, frozen=True):
    """C12. The leader proposes an ISR."""

    broker_epoch: Rank
    leader_epoch: int
    partition_epoch: int
    isr: SetOf[Member]
    """Sorted by broker."""
    recovering: bool


class AlterPartitionResponse(Addressed, frozen=True):
    request: AlterPartitionRequest
    error: str
    leader: NodeOrNobody
    leader_epoch: int
    partition_epoch: int
    isr: SetOf[Node]
    """Sorted."""


class MetadataRecords(Addressed, frozen=True):
    """A batch for the metadata log, which begins at `offset` there."""

    offset: Position
    records: tuple[MetadataRecord, ...]


class ReplicaFetchRequest(Addressed, frozen=True):
    """P4. A follower asks for what follows the end of its log."""

    broker_epoch: Rank
    epoch: int
    """The leader epoch that the follower knows."""
    fetch_offset: int
    last_fetched_epoch: int
    log_start: int = 0
    """S9. Where the follower's log starts."""


class ReplicaFetchResponse(Addressed, frozen=True):
    """P4, P13. An error, a diverging epoch, or records (perhaps none)."""

    request: ReplicaFetchRequest
    error: str
    records: RecordLog
    diverging: EpochEnd
    high_watermark: int
    log_start: int
    end_offset: int
    """The leader's, where the fetch was out of range; -1 otherwise."""


class ProduceRequest(Addressed, frozen=True):
    """P17, T1. One batch. Without idempotence the last three are -1."""

    client: int
    acks: int
    values: tuple[Value, ...]
    producer: int
    producer_epoch: int
    sequence: int
    """Of the first record."""


class ProduceResponse(Addressed, frozen=True):
    request: ProduceRequest
    error: str
    offset: int
    """Of the first record, -1 with an error."""


class ConsumerFetchRequest(Addressed, frozen=True):
    """P20."""

    client: int
    epoch: int
    """The leader epoch that the consumer knows, -1 when it knows none."""
    fetch_offset: int
    from_follower: bool
    """KIP-392: a follower may answer."""


class ConsumerFetchResponse(Addressed, frozen=True):
    request: ConsumerFetchRequest
    error: str
    records: RecordLog
    high_watermark: int
    log_start: int


class ListOffsetsRequest(Addressed, frozen=True):
    """P21."""

    client: int
    epoch: int
    timestamp: Timestamp


class ListOffsetsResponse(Addressed, frozen=True):
    request: ListOffsetsRequest
    error: str
    offset: int


class DeleteRecordsRequest(Addressed, frozen=True):
    """S9. The log is to start at `offset`."""

    client: int
    offset: int


class DeleteRecordsResponse(Addressed, frozen=True):
    request: DeleteRecordsRequest
    error: str
    offset: int
    """Where the log starts now, -1 with an error."""


# --- Other inputs of the controller


class SessionTimeout(Tagged, frozen=True):
    """C5. The broker's session is over."""

    broker: Node


class ElectLeaders(Tagged, frozen=True):
    """C9. An administrator, or the leader balancer, asks for an election."""

    election: Election


class ControllerFailover(Tagged, frozen=True):
    """Another controller takes over."""


# --- Other inputs of a broker


class MetadataUpdate(Tagged, frozen=True):
    """P1. Committed metadata from `offset` on, as many records as were read at once."""

    offset: Position
    records: tuple[MetadataRecord, ...]


class SendRegistration(Tagged, frozen=True):
    """C2. The broker asks to be registered."""


class SendHeartbeat(Tagged, frozen=True):
    """C5. The broker's heartbeat is due."""


class ControllerRequestTimeout(Tagged, frozen=True):
    """A request to the controller will not be answered any more."""

    request: NoRequest | RegisterBrokerRequest | HeartbeatRequest | AlterPartitionRequest


class ControlledShutdown(Tagged, frozen=True):
    """P22. The broker is to stop cleanly."""


class BrokerCrash(Tagged, frozen=True):
    """P23. The process stops. Its log ends at `keep`, and from `corrupt` on it is unreadable."""

    keep: int
    corrupt: int
    """-1: nothing is."""


class BrokerRestart(Tagged, frozen=True):
    """P23. The process starts again from what is on disk."""


class ReplicaLagTimeout(Tagged, frozen=True):
    """P10. The replica has not been caught up for too long."""

    replica: Node


class IsrShrinkTimeout(Tagged, frozen=True):
    """P10. The periodic look at the ISR is due."""


class SendAlterPartition(Tagged, frozen=True):
    """P11. What is proposed is sent."""


class ProduceTimeout(Tagged, frozen=True):
    """P19, S9. The wait of a produce request, or of one to delete records, is over."""

    request: ProduceRequest | DeleteRecordsRequest


class SendReplicaFetch(Tagged, frozen=True):
    """P4. A follower asks its leader."""


class ReplicaFetchTimeout(Tagged, frozen=True):
    """A fetch will not be answered any more."""

    request: ReplicaFetchRequest


class BrokerFlush(Tagged, frozen=True):
    """S4. What was appended reaches the disk."""


class CheckpointHighWatermark(Tagged, frozen=True):
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
CLIENT_REQUESTS: tuple[type[Any], ...] = get_args(ClientRequest)
MESSAGES: tuple[type[Any], ...] = get_args(Message)
