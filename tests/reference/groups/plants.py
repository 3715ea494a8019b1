"""A violation of each property of groups: one state in order changes, and what it breaks."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from reference.groups.log import initial_log
from reference.groups.messages import COORDINATOR, GroupRecord, MemberRecord
from reference.groups.protocol import GROUPS
from reference.groups.types import (
    INITIAL_MEMBER,
    NO_MEMBER,
    Constants,
    GroupCoordinator,
    GroupMember,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1, 2), (1, 2), 3, 1000)
BOTH: Final = (1, 2)


def record(p: int) -> MemberRecord:
    return MemberRecord("Stable", 3, 2, BOTH, (p,), (p,), ())


def consumer(p: int) -> GroupMember:
    return replace(
        INITIAL_MEMBER,
        state="Stable",
        epoch=3,
        subscribed=BOTH,
        owned=(p,),
        current=(p,),
        target=(p,),
        unsent=(),
        correlation=3,
    )


GROUP: Final = GroupRecord(3, 3, (record(1), record(2)), BOTH)


def coordinator(group: GroupRecord) -> GroupCoordinator:
    return GroupCoordinator(1, initial_log(group), ())


def settled() -> Rows:
    """Each member has one partition."""
    return {COORDINATOR: coordinator(GROUP), 1: consumer(1), 2: consumer(2)}


def with_member(n: int, **changes: Any) -> GroupRecord:
    """What the coordinator knows of a member is another thing, and nothing else."""
    members = list(GROUP.members)
    members[n - 1] = replace(members[n - 1], **changes)
    return replace(GROUP, members=tuple(members))


def _knowing(group: GroupRecord) -> Rows:
    return {**settled(), COORDINATOR: coordinator(group)}


def _doing(**changes: Any) -> Rows:
    rows = settled()
    return {**rows, 1: replace(rows[1], **changes)}


def plants() -> tuple[Plant, ...]:
    waited = with_member(1, state="Unrevoked", pending=(2,), target=(1,))
    waited = replace(waited, members=(waited.members[0], NO_MEMBER))
    lonely = replace(GROUP, members=(replace(record(1), target=BOTH), NO_MEMBER), held=(1,))
    taken = replace(GROUP, members=(replace(record(1), assigned=BOTH), NO_MEMBER))
    after = {
        "GroupTypeInv": _knowing(with_member(1, state="Unrevoked")),
        "HeldIsAssigned": _knowing(replace(GROUP, held=(1,))),
        "ServerSingleOwner": _knowing(with_member(1, assigned=BOTH)),
        "EpochsBounded": _knowing(replace(GROUP, epoch=2)),
        "AssignedIsSubscribed": _knowing(with_member(1, subscribed=(2,))),
        "AssignedIsTarget": _knowing(lonely),
        "SingleOwner": _doing(owned=BOTH),
        "OwnedIsHeld": _doing(owned=BOTH),
        "EpochIsCommitted": _doing(epoch=4),
        "AckIsHeard": _knowing(waited),
        "EpochsMonotonic": _knowing(with_member(1, epoch=2)),
        "Withheld": _knowing(taken),
    }
    return tuple([Plant(name, settled(), rows) for name, rows in after.items()])


PLANTED: Final = Planted(GROUPS, TWO, initial_rows(GROUPS, TWO), settled(), plants())
