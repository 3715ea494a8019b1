"""A topic whose partitions move, as one protocol: its controller, and all that comes to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any, Final

from kraftcheck.reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.reassignment.handlers import (
    ReassignmentHandlers,
    initial_topic_row,
)
from kraftcheck.reference.partition.reassignment.messages import (
    INPUTS,
    AlterPartition,
    AssignDirectory,
    CancelReassignment,
    ChangeMinIsr,
    CreatePartition,
    CreateTopic,
    DeleteTopic,
    DirectoryFailure,
    ElectPartitionLeader,
    FenceBroker,
    Input,
    MetadataUpdate,
    PlacePartition,
    PlaceTopic,
    Produce,
    Reassign,
    RegisterBroker,
    ReplicaFetch,
    SendAlterPartition,
    ShutDownBroker,
    UnfenceBroker,
    UnregisterBroker,
)
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES, holders_after
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.reassignment.sometimes import sometimes
from kraftcheck.reference.partition.reassignment.types import (
    CONTROLLER,
    NOBODY,
    Constants,
    MovingPartition,
    TopicRow,
)

MOST_PARTITIONS: Final = 2
"""Of runs."""
LONGEST: Final = 6
"""A leader's log in runs, where its notes are told."""

CONTROLLER_KIND: Final = NodeKind(
    name="topic-controller",
    module="Reassignments",
    row=TopicRow,
    inputs=INPUTS,
    initial=initial_topic_row,
    role=lambda _: "Controller",
)


_PLACED: Final[dict[Any, Any]] = {CreateTopic: PlaceTopic, CreatePartition: PlacePartition}
"""Where there are racks, the placer chooses."""


def _local(constants: Constants, _: int, row: TopicRow) -> Iterator[Input]:
    """All that may come to the controller."""
    for b, known in zip(constants.brokers, row.registrations, strict=True):
        yield from _of_broker(constants, b, known.state, known.directories)
    for i, partition in enumerate(row.partitions, 1):
        yield from _of_partition(constants, i, partition)
        if constants.leader_notes and partition.leader != NOBODY:
            yield from _of_leader(i, partition, row.leaders[i - 1].end_offset)
    size = len(row.partitions[0].replicas) if row.partitions else len(constants.first_replicas)
    if row.topic_id:
        yield DeleteTopic()
        yield from map(ChangeMinIsr, (1, 2, 3))
        if len(row.partitions) >= MOST_PARTITIONS:
            return
    lists: Iterator[tuple[int, ...]] = combinations(constants.brokers, size)
    made: Any = CreatePartition if row.topic_id else CreateTopic
    if constants.second_rack:
        lists, made = permutations(constants.brokers, size), _PLACED[made]
    yield from map(made, lists)


def _of_broker(
    constants: Constants, b: int, state: str, online: tuple[int, ...]
) -> Iterator[Input]:
    if state in ("Active", "Stopping"):
        yield FenceBroker(b)
    else:
        yield RegisterBroker(b, True, constants.directories)
        yield RegisterBroker(b, False, constants.directories)
    if state == "Active":
        yield ShutDownBroker(b)
    if state == "Fenced":
        yield UnfenceBroker(b, ())
        yield from (UnfenceBroker(b, (each,)) for each in online if len(online) > 1)
    if state != "Unregistered":
        yield UnregisterBroker(b)
        yield from (DirectoryFailure(b, each) for each in online if len(online) > 1)


def _of_leader(i: int, partition: MovingPartition, end: int) -> Iterator[Input]:
    yield MetadataUpdate(i)
    if end < LONGEST:
        yield Produce(i)
    others = [b for b in partition.replicas if b != partition.leader]
    yield from [ReplicaFetch(i, b) for b in others]
    yield from [SendAlterPartition(i, b) for b in others]


def _of_partition(constants: Constants, i: int, partition: MovingPartition) -> Iterator[Input]:
    leader, isr = partition.leader, {*partition.isr}
    if leader != NOBODY:
        others = [b for b in partition.replicas if b != leader]
        if constants.leader_notes:
            # Who joins is proposed by the leader's notes.
            others = [b for b in others if b in isr]
        for b in others:
            proposed = tuple(sorted(isr ^ {b}))
            epochs = (partition.leader_epoch, partition.partition_epoch)
            yield AlterPartition(i, leader, proposed, *epochs)
            yield AlterPartition(i, leader, proposed, epochs[0], epochs[1] - 1)
    for size in range(1, len(constants.brokers) + 1):
        for listed in permutations(constants.brokers, size):
            # Any list may be asked for; of the longer ones those in order and their reverse.
            if size < 3 or list(listed) in (sorted(listed), sorted(listed, reverse=True)):
                yield Reassign(i, listed)
    yield CancelReassignment(i)
    yield ElectPartitionLeader(i, "PREFERRED")
    yield ElectPartitionLeader(i, "UNCLEAN")
    for b in partition.replicas:
        if not partition.directories[constants.brokers.index(b)]:
            yield from (AssignDirectory(i, b, each) for each in constants.directories)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    controller = of(ReassignmentHandlers)(constants, of(ReassignmentRules)(constants), of)
    return lambda node, row, input: controller.step(row, input)


REASSIGNMENT: Final = Protocol(
    name="reassignment",
    sentence="a controller moves the replicas of a topic between brokers that come and go",
    constants=Constants,
    kinds=(CONTROLLER_KIND,),
    messages=(),
    alike="brokers",
    peers=lambda constants: constants.brokers,
    nodes=lambda constants: (CONTROLLER,),
    kind_of=lambda constants, node: CONTROLLER_KIND,
    handlers=_handlers,
    rules=(ReassignmentRules,),
    handler_classes=(ReassignmentHandlers,),
    names={CONTROLLER: "C"},
    spelt={CONTROLLER: "controller"},
    sometimes=tuple(sometimes.all),
    extends=PARTITION.name,
    world=World(
        constants={
            "brokers": ((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 4, 5)),
            "first_replicas": ((1, 2, 3), (1, 2)),
            "directories": ((1,), (1, 2)),
            "min_insync_replicas": (2, 3, 1),
            "elr_enabled": (True, False),
            "unclean_election": (False, True),
            "second_rack": ((),),
            "leader_notes": (False,),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(200, 400),
        history=holders_after,
        disturbances={
            Reassign: (10, 40, 200),
            CancelReassignment: (50, 300, 800),
            FenceBroker: (100, 300),
            ShutDownBroker: (50, 200),
            UnregisterBroker: (0, 50),
            DirectoryFailure: (0, 200),
            ElectPartitionLeader: (50, 300),
            CreatePartition: (0, 50),
            PlacePartition: (0, 50),
            DeleteTopic: (0, 20),
            ChangeMinIsr: (0, 100),
        },
    ),
)
PROTOCOL: Final = REASSIGNMENT
