"""A violation of each property of classic groups: one state in order changes, and what it
breaks.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.groups.classic.messages import (
    COORDINATOR,
    ClassicImage,
    ClassicRecord,
    ClassicTail,
)
from kraftcheck.reference.groups.classic.protocol import CLASSIC
from kraftcheck.reference.groups.classic.types import (
    NO_MEMBER,
    ClassicCoordinator,
    ClassicLog,
    ClassicMember,
    Constants,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1, 2), (1, 2), True, 3, 1000)
BOTH: Final = (1, 2)


def record(p: int) -> ClassicRecord:
    return ClassicRecord(True, (p,), 2, (p,), False, False, 0)


def consumer(p: int) -> ClassicMember:
    return ClassicMember("Stable", True, 3, (p,), False, 3)


IMAGE: Final = ClassicImage(3, 1, (record(1), record(2)))


def log(committed: ClassicImage, *tail: ClassicImage) -> ClassicLog:
    """Which one replica has beyond what is committed, and not the leader."""
    return ClassicLog(committed, (), (ClassicTail(tail),))


GROUP: Final = ClassicCoordinator(1, "Stable", 3, 1, IMAGE.members, log(IMAGE))


def settled() -> Rows:
    """Each member has one partition."""
    return {COORDINATOR: GROUP, 1: consumer(1), 2: consumer(2)}


def _group(**changes: Any) -> Rows:
    return {**settled(), COORDINATOR: replace(GROUP, **changes)}


def _first(**changes: Any) -> Rows:
    return {**settled(), 1: replace(consumer(1), **changes)}


def _member(**changes: Any) -> Rows:
    """What the coordinator knows of the first member is another thing."""
    return _group(members=(replace(record(1), **changes), record(2)))


def plants() -> tuple[Plant, ...]:
    twice = replace(IMAGE, members=(replace(record(1), assigned=BOTH), record(2)))
    left = (NO_MEMBER, NO_MEMBER)
    changed: list[tuple[str, Rows]] = [
        ("ClassicTypeInv", _group(state="Empty")),
        ("ClassicTypeInv", _member(joined=True)),
        ("ClassicTypeInv", _member(syncing=True)),
        (
            "ClassicTypeInv",
            _group(state="Preparing", members=(replace(NO_MEMBER, joined=True),) * 2),
        ),
        ("ClassicTypeInv", _first(state="Unsubscribed", has_id=False)),
        ("ClassicTypeInv", _first(state="Unsubscribed", owned=())),
        ("ClassicTypeInv", _first(has_id=False, owned=())),
        ("AssignedOnce", _group(log=log(twice))),
        ("AssignedOnce", _group(log=log(IMAGE, twice))),
        ("SingleOwner", _first(state="Joining", owned=BOTH)),
        ("AssignmentIsCommitted", _first(generation=4)),
        ("OwnedIsAssigned", {**_first(owned=BOTH), 2: replace(consumer(2), owned=())}),
        ("GenerationsMonotonic", _group(log=log(replace(IMAGE, generation=2, members=left)))),
    ]
    return tuple([Plant(name, settled(), rows) for name, rows in changed])


PLANTED: Final = Planted(CLASSIC, TWO, initial_rows(CLASSIC, TWO), settled(), plants())
