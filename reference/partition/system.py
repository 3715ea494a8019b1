"""Declare the partition as a system (reference/core/system.py).

What may come to brokers and controller by themselves, and what travels in order.

An input is listed whether or not a row has a use for it: handlers decide what is disabled. Metadata
is the log that nodes share (`Protocol.shared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from msgspec.structs import replace

from kraftcheck.reference.kit.properties import Invariant
from kraftcheck.reference.kit.protocol import World
from kraftcheck.reference.partition.invariants import PartitionChecker
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    BrokerCrash,
    BrokerFlush,
    BrokerRestart,
    CheckpointHighWatermark,
    ConsumerFetchRequest,
    ControlledShutdown,
    ControllerFailover,
    ControllerRequestTimeout,
    DeleteRecordsRequest,
    Election,
    ElectLeaders,
    Input,
    IsrShrinkTimeout,
    ListOffsetsRequest,
    ProduceRequest,
    ProduceTimeout,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
    SessionTimeout,
    Timestamp,
)
from kraftcheck.reference.partition.properties import PartitionState
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    BrokerRow,
    PartitionConstants,
    is_leader,
    is_up,
)

ACTIVITIES: Final[tuple[Input, ...]] = (
    SendReplicaFetch(),
    SendAlterPartition(),
    IsrShrinkTimeout(),
    SendHeartbeat(),
    SendRegistration(),
    BrokerRestart(),
    CheckpointHighWatermark(),
    BrokerFlush(),
)
"""What a broker does by itself, but for timeouts that are about something."""


CLIENT: Final = 0
"""The one client, and the one producer, of a system that is made of this declaration."""


def comes_once(source: int, destination: int) -> bool:
    """Whether what travels from one to the other comes once and in order.

    With the controller, or a client, there is one connection. (Kafka's controllers and clients rely
    on that: a response carries its request.) Fetches between brokers bear anything.
    """
    return min(source, destination) < 0


def listing_first(constants: PartitionConstants, broker: int) -> PartitionConstants:
    """Give the same partition with its replicas listed anew, this one first.

    A reassignment to the same replicas in another order does so. (Kafka:
    AlterPartitionReassignments moves no data then. Of R1 to R5 nothing else is here.)
    """
    others = [n for n in constants.replicas if n != broker]
    return replace(constants, replicas=(broker, *others))


def of_broker(constants: PartitionConstants, node: int, row: BrokerRow) -> Iterator[Input]:
    """A broker's activities and timeouts."""
    yield from ACTIVITIES
    yield from (ReplicaLagTimeout(r) for r in constants.brokers if r != node)
    for request in dict.fromkeys((row.controller_request, row.alter_request)):
        yield ControllerRequestTimeout(request)
    yield from (ReplicaFetchTimeout(m) for m in row.fetching)
    yield from (ProduceTimeout(p.request) for p in row.parked)


def of_controller(constants: PartitionConstants) -> Iterator[Input]:
    """Ends of sessions, elections, and another controller."""
    yield from map(SessionTimeout, constants.brokers)
    yield from map(ElectLeaders, get_args(Election))
    yield ControllerFailover()


def of_clients(node: int, row: BrokerRow) -> Iterator[Input]:
    """What a client asks a broker: the next record of a leader, and anything of one that is up."""
    if is_leader(row):
        for acks in (1, -1):
            for idempotent in (False, True):
                yield produce(node, len(row.log) + 1, acks, CLIENT, idempotent)
    if not is_up(row):
        return
    for offset in range(len(row.log) + 2):
        for from_follower in (False, True):
            yield ConsumerFetchRequest(CLIENTS, node, CLIENT, UNDEFINED, offset, from_follower)
    for timestamp in get_args(Timestamp):
        yield ListOffsetsRequest(CLIENTS, node, CLIENT, UNDEFINED, timestamp)
    for offset in range(len(row.log) + 1):
        yield DeleteRecordsRequest(CLIENTS, node, CLIENT, offset)


def produce(
    node: int, value: int, acks: int, client: int, idempotent: bool = False
) -> ProduceRequest:
    """A batch of one record, the value of which is its number.

    idempotent: of a producer of the client's number, in its first epoch.
    """
    of = (client, 0, value - 1) if idempotent else (UNDEFINED,) * 3
    return ProduceRequest(CLIENTS, node, client, acks, (value,), *of)


def operation_of(request: ProduceRequest | ConsumerFetchRequest | ListOffsetsRequest) -> str:
    """As histories call what a client asks (traces/history.py)."""
    if isinstance(request, ListOffsetsRequest):
        return "latest" if request.timestamp == "Latest" else "earliest"
    return "append" if isinstance(request, ProduceRequest) else "fetch"


def _local(constants: PartitionConstants, node: int, row: Any) -> Iterator[Input]:
    if node == CONTROLLER:
        yield from of_controller(constants)
        return
    yield from of_broker(constants, node, row)
    if is_up(row):
        durable = max(row.flushed, row.log_start)
        yield from (BrokerCrash(keep, UNDEFINED) for keep in range(durable, len(row.log) + 1))
    yield from of_clients(node, row)
    yield ControlledShutdown()


def _judge(nodes: Any) -> PartitionChecker:
    """The invariants of a partition's protocol, by the handlers of a run."""
    known = [each for each in nodes.protocol.properties if isinstance(each, Invariant)]
    return PartitionChecker(nodes.handle.others, invariants=tuple(known))


def _whole(constants: PartitionConstants, rows: Mapping[int, Any]) -> PartitionState:
    brokers = {node: rows[node] for node in constants.brokers}
    return PartitionState(brokers, rows[CONTROLLER], ())


WORLD: Final = World(
    constants={
        "replicas": ((0, 1, 2), (0, 1)),
        "min_insync_replicas": (2, 1),
        "elr_enabled": (True, False),
        "unclean_election": (False, True),
        "fetch_max_records": (2, 1),
    },
    local=_local,
    # Some ask what a client was told, or would be: the judge sees each step, and has the handlers.
    properties=(),
    judge=_judge,
    asked_of=_whole,
    in_order=lambda message: CONTROLLER in (message.source, message.destination),
    has_read=lambda row: row.image.offset if isinstance(row, BrokerRow) else None,
    simulated=True,
)
