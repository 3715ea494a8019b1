"""A partition whose replicas move, as one protocol.

It is that of a partition, with a few operators replaced.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.protocol import Handlers, Protocol, SharedLog, Substitution
from kraftcheck.reference.partition import protocol as partition
from kraftcheck.reference.partition.messages import CLIENTS, CONTROLLER, METADATA_LOG
from kraftcheck.reference.partition.moving.handlers import MovingBrokers, MovingController
from kraftcheck.reference.partition.moving.messages import (
    BROKER_INPUTS,
    CONTROLLER_INPUTS,
    MESSAGES,
    MetadataRecords,
    MetadataUpdate,
    own,
)
from kraftcheck.reference.partition.moving.properties import PROPERTIES
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.system import WORLD
from kraftcheck.reference.partition.moving.types import (
    Constants,
    MovingBrokerRow,
    MovingControllerRow,
    initial_moving_controller,
    initial_moving_row,
)
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.types import INITIAL_OFFSET

BROKER: Final = partition.BROKER._replace(
    name="moving-broker",
    module="MovingPartition",
    row=MovingBrokerRow,
    inputs=BROKER_INPUTS,
    initial=initial_moving_row,
    cases=(),
    shifted=frozenset(),
    hidden=None,
    replaces=(
        ("InitialRow", "[PartitionRow] InitialMovingRow"),
        ("FetchEpochError", "[PartitionRules] FetchErrorUnderList"),
        ("DeletionAwaits", "[PartitionRules] DeletionAwaitsUnderList"),
        ("Publish", "[BrokerLifecycle] PublishUnderList"),
    ),
)
CONTROLLER_KIND: Final = partition.CONTROLLER_KIND._replace(
    name="moving-controller",
    module="MovingPartition",
    row=MovingControllerRow,
    inputs=CONTROLLER_INPUTS,
    initial=initial_moving_controller,
    hidden=None,
    first_row="InitialMovingController",
    replaces=(
        ("Changes", "[PartitionController] ChangesOfLists"),
        ("LeaderEpochError", "[PartitionRules] LeaderErrorUnderList"),
        ("PartitionEpochError", "[PartitionRules] AlterErrorUnderList"),
        ("IsUncleanRestart", "[PartitionRules] UncleanUnderList"),
        ("NextControlState", "[PartitionController] NextOfAllPartitions"),
        ("Step_HandleControllerFailover", "[PartitionController] FailoverOfAllPartitions"),
        ("Step_HandleElectLeaders", "[PartitionController] ElectUnderList"),
    ),
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules, as_topic = of(MovingRules)(constants), constants
    topic = of(ReassignmentHandlers)(as_topic, of(ReassignmentRules)(as_topic), of)
    controller = of(MovingController)(constants, rules, topic)
    return partition.of_both(of(MovingBrokers)(constants, rules), controller)


MOVING: Final = Protocol(
    name="moving",
    sentence="brokers replicate one partition whose replicas move",
    constants=Constants,
    kinds=(BROKER, CONTROLLER_KIND),
    messages=MESSAGES,
    alike="brokers",
    peers=lambda constants: constants.brokers,
    nodes=lambda constants: (*constants.brokers, CONTROLLER),
    # Their order is in the image of a broker that begins anew.
    apart=lambda constants: tuple([(b,) for b in constants.first_replicas]),
    kind_of=lambda constants, node: CONTROLLER_KIND if node in partition.CONTROLLERS else BROKER,
    handlers=_handlers,
    rules=(MovingRules, ReassignmentRules),
    handler_classes=(MovingBrokers, MovingController),
    properties=PROPERTIES,
    sometimes=tuple(
        [each._replace(inputs=own(each.inputs)) for each in partition.PARTITION.sometimes]
    ),
    outsiders=partition.PARTITION.outsiders,
    clients=frozenset({CLIENTS}),
    names=partition.PARTITION.names,
    spelt=partition.PARTITION.spelt,
    log=partition.PARTITION.log,
    earlier=partition.PARTITION.earlier,
    shared=SharedLog(METADATA_LOG, CONTROLLER, MetadataRecords, MetadataUpdate, INITIAL_OFFSET),
    extends=REASSIGNMENT.name,
    world=WORLD,
)
PROTOCOL: Final = MOVING
