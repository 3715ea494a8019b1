"""A violation of each property of groups whose members commit offsets."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import asdict, replace

from kraftcheck.reference.groups.commits.messages import AskedCommit, CommitsRecord
from kraftcheck.reference.groups.commits.protocol import COMMITS
from kraftcheck.reference.groups.commits.types import (
    CommitsCoordinator,
    CommittingMember,
    Constants,
    first_member,
    initial_coordinator,
)
from kraftcheck.reference.groups.messages import COORDINATOR, MemberRecord
from kraftcheck.reference.groups.types import INITIAL_MEMBER
from tests.reference.groups.plants import GROUP, consumer, record
from tests.reference.plain import Plant, Planted, Rows, initial_rows

THREE: Final = Constants((1, 2, 3), (1, 2), 3, 1000)

# Member 1 has partition 1 since epoch 2, which is committed up to 2; member 2 has the other one.
# Member 1 is asked to commit 3; member 2 was asked for 1, when it had that partition.
COMMITTED: Final = CommitsRecord(**asdict(GROUP), offset=2, since=2)
ASKED: Final = (AskedCommit(3, 3, sent=True),)
EARLIER: Final = (AskedCommit(3, 2, sent=True),)
ASKED_BEFORE: Final = (AskedCommit(1, 1, sent=True),)


def member(of: Any, position: int = -1, requested: tuple[AskedCommit, ...] = ()) -> Any:
    return CommittingMember(**asdict(of), position=position, requested=requested)


def coordinator(group: CommitsRecord) -> CommitsCoordinator:
    first = initial_coordinator(THREE)
    return replace(first, log=replace(first.log, committed=group))


def settled() -> Rows:
    return {
        COORDINATOR: coordinator(COMMITTED),
        1: member(consumer(1), 3, ASKED),
        2: member(consumer(2), requested=ASKED_BEFORE),
        3: first_member(THREE),
    }


def _knowing(**changes: Any) -> Rows:
    return {**settled(), COORDINATOR: coordinator(replace(COMMITTED, **changes))}


def _of(n: int, **changes: Any) -> MemberRecord:
    return replace(record(n), **changes)


def _members(first: MemberRecord) -> tuple[MemberRecord, ...]:
    return (first, *GROUP.members[1:])


def _doing(n: int, **changes: Any) -> Rows:
    rows = settled()
    return {**rows, n: replace(rows[n], **changes)}


def plants() -> tuple[Plant, ...]:
    both = (1, 2)
    alone = (COMMITTED.members[0], *(GROUP.members[2],) * 2)
    waited = _of(1, state="Unrevoked", pending=(2,), target=(1,))
    lonely = {"members": (_of(1, target=both), *alone[1:]), "held": (1,)}
    after = {
        "GroupTypeInv": _knowing(members=_members(_of(1, state="Unrevoked"))),
        "HeldIsAssigned": _knowing(held=(1,)),
        "ServerSingleOwner": _knowing(members=_members(_of(1, assigned=both))),
        "EpochsBounded": _knowing(epoch=2),
        "AssignedIsSubscribed": _knowing(members=_members(_of(1, subscribed=(2,)))),
        "AssignedIsTarget": _knowing(**lonely),
        "SingleOwner": _doing(1, owned=both),
        "OwnedIsHeld": _doing(1, owned=both),
        "EpochIsCommitted": _doing(1, epoch=4),
        "AckIsHeard": _knowing(members=(waited, *alone[1:])),
        "NobodyGivesUp": _doing(3, **asdict(replace(INITIAL_MEMBER, state="Fatal"))),
        "EpochsMonotonic": _knowing(members=_members(_of(1, epoch=2))),
        "Withheld": _knowing(members=(_of(1, assigned=both), *alone[1:])),
        "CommitsTypeInv": _doing(2, position=0),
        "CommitByOwner": _knowing(offset=1),
        "HandoverNoRegress": _knowing(offset=1),
    }
    since = {**settled(), COORDINATOR: coordinator(replace(COMMITTED, since=0))}
    begins = _doing(1, position=-1, requested=())
    regained = {**settled(), 1: member(consumer(1), 3, (AskedCommit(1, 1, sent=True),))}
    gone_back = {**regained, COORDINATOR: coordinator(replace(COMMITTED, offset=1))}
    return (
        *[Plant(name, settled(), rows) for name, rows in after.items()],
        Plant("CommitsTypeInv", settled(), since),
        Plant("HandoverNoRegress", regained, gone_back),
        Plant("StartAtCommitted", begins, {**begins, 1: member(consumer(1), 1)}),
    )


TWINS: Final = (
    # The member asked in an earlier epoch, and has the partition.
    Plant(
        "CommitByOwner",
        _doing(1, requested=EARLIER),
        {**_doing(1, requested=EARLIER), COORDINATOR: coordinator(replace(COMMITTED, offset=3))},
    ),
)
PLANTED: Final = Planted(COMMITS, THREE, initial_rows(COMMITS, THREE), settled(), plants(), TWINS)
