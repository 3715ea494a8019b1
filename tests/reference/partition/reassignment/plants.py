"""A violation of each property of reassignments: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.partition.reassignment.properties import holders_after
from kraftcheck.reference.partition.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.partition.reassignment.types import (
    CONTROLLER,
    BrokerRegistration,
    Constants,
    MovingPartition,
    Target,
    TopicRow,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

THREE: Final = Constants((1, 2, 3), (1, 2), (1, 2), second_rack=(3,))


def first_rows() -> Rows:
    rows = initial_rows(REASSIGNMENT, THREE)
    return {**rows, HISTORY: tuple([p.isr for p in rows[CONTROLLER].partitions])}


def first_row() -> TopicRow:
    row: TopicRow = first_rows()[CONTROLLER]
    return row


def with_fields(row: TopicRow, **fields: Any) -> TopicRow:
    """With these of its first partition."""
    first: MovingPartition = replace(row.partitions[0], **fields)
    return replace(row, partitions=(first, *row.partitions[1:]))


def moving(**fields: Any) -> TopicRow:
    """Broker 3 takes the place of 2."""
    lists = {"replicas": (1, 3, 2), "adding": (3,), "removing": (2,), "partition_epoch": 1}
    return replace(with_fields(first_row(), **{**lists, **fields}), targets=(Target((1, 3)),))


def state(row: TopicRow, before: Rows | None = None) -> Rows:
    """With who holds what was acknowledged, as it is after it was so in the rows before."""
    past = first_rows() if before is None else before
    rows = {CONTROLLER: row}
    return {**rows, HISTORY: holders_after(THREE, past, {**rows, HISTORY: None})}


def plants() -> tuple[Plant, ...]:
    before = state(moving())
    other = {"partition_epoch": 2}
    fenced = BrokerRegistration("Fenced", (1, 2))
    row = moving(**other)
    gone = replace(row.registrations[0], directories=(2,))
    changed = {
        "IsrElrAreReplicas": [
            moving(elr=(3,), replicas=(1, 2), adding=(), **other),
            moving(last_known_leader=3, replicas=(1, 2), adding=(), **other),
            moving(adding=(2, 3), **other),
        ],
        "ValidControllerState": [
            moving(isr=(2,), **other),
            replace(row, registrations=(row.registrations[0], fenced, fenced)),
            moving(elr=(2,), **other),
        ],
        "LeaderCandidateCompleteness": [moving(elr=(3,), **other)],
        "OfflineDirNeverLeads": [
            replace(
                moving(directories=(1, 0, 0), **other),
                registrations=(gone, *row.registrations[1:]),
            )
        ],
        "TargetReached": [moving(adding=(), removing=(), **other)],
        "ReassignmentKeepsMinIsr": [
            moving(replicas=(1, 3), adding=(), removing=(), isr=(1,), leader_epoch=1, **other)
        ],
        "EpochsGrow": [
            moving(isr=(1, 2, 3)),
            moving(leader_epoch=-1, **other),
            moving(leader=2, **other),
            moving(replicas=(1, 3), adding=(), removing=(), isr=(1, 3), **other),
        ],
        "SpreadOverRacks": [
            replace(
                row,
                partitions=(*row.partitions, *first_row().partitions),
                targets=(*row.targets, *first_row().targets),
            )
        ],
        "TopicIdsAreNew": [replace(first_row(), topic_id=3, topics_made=3)],
    }
    found = [
        Plant(name, before, state(each, before)) for name, rows in changed.items() for each in rows
    ]
    made = state(replace(first_row(), topics_made=4))
    return tuple(
        [
            replace_before(each, made) if each.violates == "TopicIdsAreNew" else each
            for each in found
        ]
    )


def twins() -> tuple[Plant, ...]:
    before = state(moving())
    given_up = moving(
        replicas=(1, 2), adding=(), removing=(), isr=(1,), leader_epoch=1, partition_epoch=2
    )
    return (Plant("ReassignmentKeepsMinIsr", before, state(given_up, before)),)


def replace_before(plant: Plant, before: Rows) -> Plant:
    return plant._replace(before=before)


PLANTED: Final = Planted(REASSIGNMENT, THREE, first_rows(), state(moving()), plants(), twins())
