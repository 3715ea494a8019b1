"""A partition whose replicas are in log directories that fail, as one protocol.

It is that of a partition whose replicas move, with a few operators replaced.
"""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.protocol import Handlers, Protocol, Substitution
from kraftcheck.reference.partition.directories.handlers import (
    DirectoryBrokers,
    DirectoryController,
)
from kraftcheck.reference.partition.directories.messages import (
    BROKER_INPUTS,
    CONTROLLER_INPUTS,
    MESSAGES,
    own,
)
from kraftcheck.reference.partition.directories.properties import PROPERTIES
from kraftcheck.reference.partition.directories.system import WORLD
from kraftcheck.reference.partition.directories.types import (
    Constants,
    DirectoryBrokerRow,
    DirectoryControllerRow,
    initial_directory_controller,
    initial_directory_row,
)
from kraftcheck.reference.partition.hosting.protocol import HOSTING
from kraftcheck.reference.partition.hosting.rules import HostingRules
from kraftcheck.reference.partition.moving import protocol as moving
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.protocol import CONTROLLERS, of_both
from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules

BROKER: Final = moving.BROKER._replace(
    name="directories-broker",
    module="DirectoryPartition",
    row=DirectoryBrokerRow,
    inputs=BROKER_INPUTS,
    initial=initial_directory_row,
    replaces=(
        ("InitialRow", "[PartitionRow] InitialDirectoryRow"),
        ("FetchEpochError", "[PartitionRules] FetchErrorUnderList"),
        ("DeletionAwaits", "[PartitionRules] DeletionAwaitsUnderList"),
        ("Publish", "[BrokerLifecycle] PublishInDirectory"),
        ("Stopped", "[BrokerLifecycle] StoppedInDirectory"),
        ("StoppedCleanly", "[BrokerLifecycle] StoppedWithAll"),
        ("RegisterBrokerRequest", "[BrokerLifecycle] RegistrationNaming"),
        ("HeartbeatRequest", "[BrokerLifecycle] HeartbeatNaming"),
        ("Step_HandleBrokerFlush", "[HighWatermark] FlushOnline"),
        ("Step_HandleCheckpointHighWatermark", "[HighWatermark] CheckpointOnline"),
    ),
)
_ELSEWHERE: Final = ("Changes",)
"""What of `moving` stands in the place of something that is not asked here."""
CONTROLLER_KIND: Final = moving.CONTROLLER_KIND._replace(
    name="directories-controller",
    module="DirectoryPartition",
    row=DirectoryControllerRow,
    inputs=CONTROLLER_INPUTS,
    initial=initial_directory_controller,
    first_row="InitialDirectoryController",
    replaces=(
        *[each for each in moving.CONTROLLER_KIND.replaces if each[0] not in _ELSEWHERE],
        ("OfRow", "[MovingPartition] OfRowInDirectories"),
        ("AfterFencing", "[PartitionController] FencingInDirectories"),
        ("AfterUnfencing", "[PartitionController] UnfencingInDirectories"),
        ("AfterUncleanRestart", "[PartitionController] UncleanInDirectories"),
        ("AfterAlteration", "[PartitionController] AlterationInDirectories"),
        (
            "Step_HandleRegisterBrokerRequest",
            "[PartitionController] RegisteredWithDirectories",
        ),
        ("Step_HandleHeartbeatRequest", "[PartitionController] HeartbeatInDirectories"),
    ),
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules, as_other = of(MovingRules)(constants), constants
    topic = of(ReassignmentHandlers)(as_other, of(ReassignmentRules)(as_other), of)
    brokers = of(DirectoryBrokers)(constants, rules, of(HostingRules)(as_other))
    return of_both(brokers, of(DirectoryController)(constants, rules, topic))


DIRECTORIES: Final = Protocol(
    name="directories",
    sentence="brokers replicate one partition in log directories that fail",
    constants=Constants,
    kinds=(BROKER, CONTROLLER_KIND),
    messages=MESSAGES,
    alike="brokers",
    peers=moving.MOVING.peers,
    nodes=moving.MOVING.nodes,
    apart=moving.MOVING.apart,
    kind_of=lambda constants, node: CONTROLLER_KIND if node in CONTROLLERS else BROKER,
    handlers=_handlers,
    rules=(MovingRules, ReassignmentRules, HostingRules),
    handler_classes=(DirectoryBrokers, DirectoryController),
    properties=PROPERTIES,
    sometimes=tuple([each._replace(inputs=own(each.inputs)) for each in moving.MOVING.sometimes]),
    outsiders=moving.MOVING.outsiders,
    clients=moving.MOVING.clients,
    names=moving.MOVING.names,
    spelt=moving.MOVING.spelt,
    log=moving.MOVING.log,
    earlier=moving.MOVING.earlier,
    shared=moving.MOVING.shared,
    extends=moving.MOVING.name,
    asks=(HOSTING.name,),
    world=WORLD,
)
PROTOCOL: Final = DIRECTORIES
