"""What reassignments are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.partition.reassignment.types import (
    CONTROLLER,
    GONE,
    BrokerRegistration,
    LeaderNotes,
    MovingPartition,
    TopicRow,
)
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.partition.reassignment.plants import PLANTED, THREE, first_row, moving
from tests.reference.plain import Rows


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form, row = Abstraction(THREE), rows[CONTROLLER]
    held = [replace(p, isr=of) for p, of in zip(row.partitions, rows[HISTORY], strict=True)]
    told: Any = form.row(replace(row, partitions=tuple(held)))
    holders = tuple([each["isr"] for each in told["partitions"]])
    return {"controller": form.row(row), "holders": holders}


SETS: Final = ((), (1,), (3,), (1, 2), (2, 3), (1, 2, 3))
LISTS: Final[tuple[list[int], ...]] = ([], [1], [3, 1], [1, 1], [1, 2], [2, 3], [1, 2, 3])
"""Sequences, where tuples stand for sets."""


def rows() -> Iterator[TopicRow]:
    yield from (first_row(), moving())
    fenced = BrokerRegistration("Fenced", (1,))
    yield from (replace(moving(), min_isr=value) for value in (1, 3))
    yield replace(moving(), registrations=(fenced, GONE, first_row().registrations[2]))
    alone = moving(replicas=(1,), adding=(), removing=()).partitions[0]
    yield replace(moving(), partitions=(*moving().partitions, alone))


def placements() -> Iterator[tuple[TopicRow, list[int]]]:
    """Who is registered how, and a list that somebody or the placer chooses."""
    fenced, active = BrokerRegistration("Fenced", (1,)), first_row().registrations[0]
    for of in itertools.product((active, fenced), *[(active, fenced, GONE)] * 2):
        row = replace(first_row(), registrations=of)
        yield from ((row, listed) for listed in LISTS)
        yield from ((row, [*listed]) for listed in itertools.permutations((1, 2, 3)))


def partitions() -> Iterator[MovingPartition]:
    yield first_row().partitions[0]
    for isr, elr in itertools.product(SETS, ((), (2,), (3,))):
        yield moving(isr=isr, elr=elr, last_known_leader=2).partitions[0]
    for replicas, adding, removing in (
        ((3, 1, 2), (3,), (3,)),
        ((1, 2), (), (2,)),
        ((1, 2), (), (1, 2)),
        ((1, 2, 3), (2, 3), ()),
        ((3, 1, 2), (3,), (1, 2)),
    ):
        lists = {"replicas": replicas, "adding": adding, "removing": removing}
        yield moving(**lists, last_known_leader=3).partitions[0]


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for row in rows():
        yield "EffectiveMinIsr", (row,)
        yield "BaseOfSecond", (row, first_row())
        for registration in row.registrations:
            yield "IsActive", (registration,)
            yield "DirectoryOfNew", (registration,)
            yield from (("IsUncleanRestart", (registration, clean)) for clean in (True, False))
            yield from (("DirectoryOnline", (registration, each)) for each in (0, 1, 2))
    for placement in placements():
        yield from ((rule, placement) for rule in ("PlacementRefused", "PlacerChooses"))
    for taken, b in itertools.product(([1], [3], [1, 2], [2, 1], [1, 3], [3, 1]), (1, 2, 3)):
        yield from (("TakesTurns", (of, (1, 2, 3), taken, b)) for of in SETS[1:])
    yield "TakesTurns", ((1,), (1, 2, 3, 4), [1, 2, 3], 2)
    for ends, epoch in itertools.product(((1, -1, 0), (1, 1, -1)), (0, 1)):
        known = LeaderNotes(1, epoch, 0, 1, ends)
        yield "KeepsEndOffsets", (known, first_row().partitions[0])
        yield from (("JoinsIsr", (known, b)) for b in (2, 3))
    for partition in partitions():
        yield from (("CancelRefused", (partition,)), ("ClearsEligible", (partition,)))
        for leader in (-1, 1):
            new = moving(leader=leader, last_known_leader=3, replicas=(1, 3)).partitions[0]
            for rule in ("LastLeader", "LastKnownAfter"):
                yield rule, (partition, new)
                yield rule, (replace(partition, leader=-1), new)
        yield from (
            ("LeaderEpochBumped", (partition, moving(leader=of, replicas=to).partitions[0]))
            for of, to in itertools.product((1, 2), ((1, 3), (1, 3, 2)))
        )
        for listed in LISTS[1:3]:
            yield "AddingAfter", (partition, listed)
            yield "RemovingAfter", (partition, listed)
        for isr, min_isr in itertools.product(SETS, (1, 2, 3)):
            yield "KeepsMinIsr", (partition, isr, min_isr)
            yield "CompletesReassignment", (partition, isr, min_isr)
        for isr, unclean in itertools.product(SETS[:4], ((), (2,))):
            yield "EligibleAfter", (partition, [2, 3], isr, unclean, 2)


PLAIN: Final = Plain(
    PLANTED,
    "ReassignmentProperties",
    ("ReassignmentKeepsMinIsr", "EpochsGrow", "TopicIdsAreNew", "SpreadOverRacks"),
    variables,
    questions,
    (THREE, replace(THREE, elr_enabled=False, unclean_election=True, second_rack=(2, 3))),
    ("Z133", {"EligibleAfter", "LastKnownAfter"}),
)
