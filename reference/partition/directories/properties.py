"""Properties of replicas in directories that fail.

They are those of moving replicas, and those of directories at the controller and at brokers.

Law of this file: nothing here asks a rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kraftcheck.reference.kit.properties import Declared, Invariant
from kraftcheck.reference.kit.protocol import Property
from kraftcheck.reference.partition.moving.properties import (
    INVARIANTS as OF_MOVING,
    OF_LISTS as LISTS_OF_MOVING,
)
from kraftcheck.reference.partition.properties import PartitionState
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES as OF_REASSIGNMENTS
from kraftcheck.reference.partition.reassignment.types import UNASSIGNED

OF_LISTS: Final[tuple[Property, ...]] = (
    *LISTS_OF_MOVING,
    *[each for each in OF_REASSIGNMENTS if each.name == "OfflineDirNeverLeads"],
)

_invariant = Declared("before", "after", "history", "handlers")


@_invariant("state")
def nothing_is_held(after: PartitionState) -> str | None:
    """A running broker that has read that it is no replica has the partition in no directory (R6,
    R22).

    Misses: a broker that has not read it, or is starting.
    """
    rows: Mapping[int, Any] = after.rows
    for n, row in rows.items():
        if not is_held_rightly(n, row):
            return f"broker {n} is no replica, and has one in directory {row.directory}"
    return None


@_invariant("state")
def serves_from_online(after: PartitionState) -> str | None:
    """A broker that leads or follows has its log in a directory that has not failed.

    Misses: reads before the failure was noticed.
    """
    rows: Mapping[int, Any] = after.rows
    for n, row in rows.items():
        if not is_served_rightly(row):
            return f"broker {n} is {row.role} in directory {row.directory}, which is not online"
    return None


def is_held_rightly(n: int, row: Any) -> bool:
    """Whether a broker that is no replica, as far as it has read, has none."""
    if row.status != "Running" or n in row.image.partition.replicas:
        return True
    return bool(row.directory == UNASSIGNED)


def is_served_rightly(row: Any) -> bool:
    return bool(row.role == "None" or row.directory in row.online)


INVARIANTS: Final[tuple[Invariant, ...]] = (*OF_MOVING, *_invariant.all)
PROPERTIES: Final[tuple[Invariant | Property, ...]] = (*INVARIANTS, *OF_LISTS)
