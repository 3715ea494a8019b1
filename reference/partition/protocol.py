"""A partition, as one protocol: brokers, and the part of the controller that is about it."""

from __future__ import annotations

from typing import Any, Final

from reference.kit.protocol import Case, Handlers, NodeKind, Protocol, Substitution
from reference.partition.broker import BrokerHandlers
from reference.partition.controller import PartitionControllerHandlers
from reference.partition.messages import (
    BROKER_INPUTS,
    CLIENTS,
    CONTROLLER,
    CONTROLLER_INPUTS,
    MESSAGES,
    METADATA_LOG,
    HeartbeatResponse,
    MetadataUpdate,
    PartitionRecord,
    ReplicaFetchResponse,
)
from reference.partition.properties import PARTITION_INVARIANTS
from reference.partition.rules import PartitionRules
from reference.partition.types import (
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
)
CONTROLLER_KIND: Final = NodeKind(
    name="controller",
    module="PartitionController",
    row=ControllerRow,
    inputs=CONTROLLER_INPUTS,
    initial=initial_controller,
    is_running=lambda _: True,
    role=lambda _: "Controller",
    first_row="InitialController",
)


def _handlers(constants: PartitionConstants, of: Substitution) -> Handlers:
    rules = of(PartitionRules)(constants)
    brokers: BrokerHandlers = of(BrokerHandlers)(constants, rules)
    controller = PartitionControllerHandlers(constants, rules)

    def step(node: int, row: Any, input: Any) -> Any:
        if node == CONTROLLER:
            return controller.step(row, input)
        return brokers.step(node, row, input)

    return step


PARTITION: Final = Protocol(
    name="partition",
    sentence="brokers replicate one partition under a controller",
    constants=PartitionConstants,
    kinds=(BROKER, CONTROLLER_KIND),
    messages=MESSAGES,
    alike="replicas",
    peers=lambda constants: constants.brokers,
    nodes=lambda constants: (*constants.brokers, CONTROLLER),
    kind_of=lambda constants, node: CONTROLLER_KIND if node == CONTROLLER else BROKER,
    handlers=_handlers,
    rules=(PartitionRules,),
    handler_classes=(BrokerHandlers,),
    properties=PARTITION_INVARIANTS,
    outsiders=frozenset({CLIENTS, METADATA_LOG}),
    clients=frozenset({CLIENTS}),
    names={CONTROLLER: "C", CLIENTS: "K", METADATA_LOG: "M"},
    # Brokers mention neither, and their controller both. Other constants stay: a set of constants
    # of its own costs a TLC of its own.
    unmentioned={"elr_enabled": True, "unclean_election": False},
)
