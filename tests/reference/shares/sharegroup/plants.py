"""A violation of each property of a share group's state: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.shares.sharegroup.messages import GROUP, LEADER, STORE
from kraftcheck.reference.shares.sharegroup.protocol import SHAREGROUP
from kraftcheck.reference.shares.sharegroup.types import (
    Constants,
    ShareGroup,
    ShareStore,
    StateLeader,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

ADDED: Final = Constants(4, True, 3, 2)

# Of a partition that was added, record 1 is acknowledged.
SETTLED: Final[Rows] = {
    STORE: ShareStore(True, 2, 1, 1, 1, 1),
    LEADER: StateLeader(1, "Active", 1, 1, 2, 3, (), 2, 1, 2),
    GROUP: ShareGroup(1, "Initialized", 1, 1, False),
}


def changed(node: int, **fields: Any) -> Rows:
    return {**SETTLED, node: replace(SETTLED[node], **fields)}


AFTER: Final = {
    "InitializedIsStored": changed(GROUP, intent=2),
    "DeletedIsGone": changed(GROUP, state="None"),
    "WriteIsOfItsState": changed(STORE, written=2),
    "AckedStays": changed(STORE, start=1),
    "NothingSkipped": changed(LEADER, start=3),
}
PLANTED: Final = Planted(
    SHAREGROUP,
    ADDED,
    initial_rows(SHAREGROUP, ADDED),
    SETTLED,
    (
        *[Plant(name, SETTLED, rows) for name, rows in AFTER.items()],
        Plant("InitializedIsStored", SETTLED, changed(STORE, known=False)),
    ),
)
