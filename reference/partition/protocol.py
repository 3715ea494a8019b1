"""A partition, as one protocol: brokers, and the part of the controller that is about it."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import (
    ByNode,
    Case,
    Handlers,
    Hidden,
    NodeKind,
    Protocol,
    SharedLog,
    Substitution,
    Witness,
)
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.controller import PartitionControllerHandlers
from kraftcheck.reference.partition.messages import (
    BROKER_INPUTS,
    CLIENTS,
    CONTROLLER,
    CONTROLLER_INPUTS,
    DEPOSED,
    MESSAGES,
    METADATA_LOG,
    HeartbeatResponse,
    MetadataRecords,
    MetadataUpdate,
    PartitionRecord,
    ReplicaFetchResponse,
)
from kraftcheck.reference.partition.properties import PARTITION_INVARIANTS
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sometimes import sometimes
from kraftcheck.reference.partition.system import WORLD
from kraftcheck.reference.partition.types import (
    INITIAL_OFFSET,
    BrokerRow,
    ControllerRow,
    PartitionConstants,
    initial_controller,
    initial_row,
    is_up,
)


def _leaves_partition(row: Any, input: Any) -> bool:
    touched = any(isinstance(record, PartitionRecord) for record in input.records)
    return row.status == "Starting" or not touched


def _moves_nobody(row: Any, input: Any) -> bool:
    stops = row.status == "ShuttingDown" and input.should_shut_down
    return not stops and not (row.status == "Starting" and input.is_caught_up)


def _leaves_log(row: Any, input: Any) -> bool:
    awaited = input.request in row.fetching
    return not awaited or input.error not in ("NONE", "OFFSET_OUT_OF_RANGE")


def _listed_anew(one: PartitionConstants, other: PartitionConstants) -> bool:
    """Whether they differ only in the order in which the replicas are assigned."""
    return one.brokers == other.brokers and replace(one, replicas=other.replicas) == other


# Not known of brokers: what identifies a client's request, since a parked one is kept with it.
_OF_BROKER: Final = Hidden(
    module="ChainPartition",
    impossible={"role": "Nobody's"},
    complete=frozenset(
        {
            *("source", "replica", "request", "error", "keep", "corrupt", "acks", "isr"),
            *("diverging", "highWatermark", "endOffset", "leader", "leaderEpoch"),
            *("isCaughtUp", "isFenced", "shouldShutDown", "fromFollower", "timestamp"),
            *("epoch", "fetchOffset", "lastFetchedEpoch", "offset"),
            *("ReplicaFetchRequest.brokerEpoch", "ReplicaFetchRequest.logStart"),
            "ConsumerFetchRequest.client",
            *("ListOffsetsRequest.client", "DeleteRecordsRequest.client"),
        }
    ),
    seen={
        "ReplicaFetchResponse.records": "log",
        "ReplicaFetchResponse.logStart": "logStart",
        "ProduceRequest.values": "log",
        "MetadataUpdate.records": "image",
        "AlterPartitionResponse.partitionEpoch": "partitionEpoch",
        "RegisterBrokerResponse.brokerEpoch": "brokerEpoch",
    },
)
# Not known of the controller: who exactly is proposed for the ISR.
_OF_CONTROLLER: Final = Hidden(
    module="ChainPartitionController",
    impossible={"offset": -2},
    complete=frozenset(
        {
            *("source", "broker", "wantFence", "wantShutDown", "recovering", "election"),
            *("previousEpoch", "brokerEpoch", "leaderEpoch", "partitionEpoch"),
        }
    ),
    seen={"incarnation": "registrations", "metadataOffset": "contacts"},
)
BROKER: Final = NodeKind(
    name="broker",
    module="BrokerCases",
    row=BrokerRow,
    inputs=BROKER_INPUTS,
    initial=initial_row,
    is_running=is_up,
    role=lambda row: str(row.status if row.status != "Running" else row.role),
    running="IsUp",
    cases=(
        Case("Aside", MetadataUpdate, _leaves_partition),
        Case("Unmoved", HeartbeatResponse, _moves_nobody),
        Case("Unused", ReplicaFetchResponse, _leaves_log),
    ),
    shifted=frozenset(
        {"HandleMetadataUpdate", "HandleMetadataUpdate_Aside", "HandleSendHeartbeat"}
    ),
    first_position=INITIAL_OFFSET,
    hidden=_OF_BROKER,
)
CONTROLLER_KIND: Final = NodeKind(
    name="controller",
    module="PartitionController",
    row=ControllerRow,
    inputs=CONTROLLER_INPUTS,
    initial=initial_controller,
    role=lambda _: "Controller",
    first_row="InitialController",
    hidden=_OF_CONTROLLER,
)


CONTROLLERS: Final = frozenset({CONTROLLER, DEPOSED})


def of_both(brokers: BrokerHandlers, controller: PartitionControllerHandlers) -> Handlers:
    return ByNode(dict.fromkeys(CONTROLLERS, controller), brokers)


def _handlers(constants: PartitionConstants, of: Substitution) -> Handlers:
    rules = of(PartitionRules)(constants)
    brokers: BrokerHandlers = of(BrokerHandlers)(constants, rules)
    return of_both(brokers, of(PartitionControllerHandlers)(constants, rules))


WITNESS: Final = Witness("Partition and ReplicationControlManager", fewest=2, most=5, usual=3)

PARTITION: Final = Protocol(
    name="partition",
    sentence="brokers replicate one partition under a controller",
    constants=PartitionConstants,
    kinds=(BROKER, CONTROLLER_KIND),
    messages=MESSAGES,
    alike="replicas",
    peers=lambda constants: constants.brokers,
    nodes=lambda constants: (*constants.brokers, CONTROLLER),
    kind_of=lambda constants, node: CONTROLLER_KIND if node in CONTROLLERS else BROKER,
    handlers=_handlers,
    rules=(PartitionRules,),
    handler_classes=(BrokerHandlers, PartitionControllerHandlers),
    properties=PARTITION_INVARIANTS,
    sometimes=tuple(sometimes.all),
    outsiders=frozenset({CLIENTS, METADATA_LOG}),
    clients=frozenset({CLIENTS}),
    names={CONTROLLER: "C", DEPOSED: "D", CLIENTS: "K", METADATA_LOG: "M"},
    spelt={
        CONTROLLER: "controller",
        DEPOSED: "deposed controller",
        CLIENTS: "clients",
        METADATA_LOG: "metadata log",
    },
    log="events-0",
    earlier={DEPOSED: CONTROLLER},
    shared=SharedLog(METADATA_LOG, CONTROLLER, MetadataRecords, MetadataUpdate, INITIAL_OFFSET),
    # A steered run lists the replicas anew before an election.
    relisted={"HandleElectLeaders": _listed_anew},
    # Brokers mention neither, and their controller both. Other constants stay: a set of constants
    # of its own costs a TLC of its own.
    unmentioned={"elr_enabled": True, "unclean_election": False},
    witness=WITNESS,
    world=WORLD,
)
