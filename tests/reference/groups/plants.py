"""A violation of each property of groups: one state in order changes, and what it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.groups.log import initial_log
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    LOADER,
    MIGRATION,
    OF_OTHERS,
    OFFSETS,
    RELEASED_EPOCH,
    GroupRecord,
    LeaderChange,
    MemberRecord,
    TransactionMarker,
)
from kraftcheck.reference.groups.protocol import GROUPS
from kraftcheck.reference.groups.types import (
    INITIAL_MEMBER,
    NO_CONSUMER,
    NO_ENTRIES,
    NO_MEMBER,
    NOT_RECORDED,
    CommittedOffset,
    Constants,
    FetchPosition,
    GroupCoordinator,
    GroupEntry,
    GroupLoader,
    GroupMember,
    GroupMigration,
    GroupOffsets,
    HeldPartition,
    MigratedMember,
    MigratingClient,
    PendingOffset,
    ReadMember,
    RequestedCommit,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

# The last two have one instance id, and the last one is not in the group.
THREE: Final = Constants((1, 2, 3), (1, 2), 3, 1000, static=((2, 3),))
BOTH: Final = (1, 2)
NOBODY: Final = (NO_MEMBER, NO_MEMBER)


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


GROUP: Final = GroupRecord(3, 3, (record(1), record(2), NO_MEMBER), BOTH)


def coordinator(group: GroupRecord) -> GroupCoordinator:
    return GroupCoordinator(1, initial_log(group), ())


# What a coordinator knows that has read this: member 1 has partition 1, member 2 was removed.
ENTRIES: Final = (
    GroupEntry(0, "Member", 1, True, 1, ()),
    GroupEntry(1, "Current", 1, True, 1, (1,)),
    GroupEntry(2, "Current", 2, False, 2, ()),
    GroupEntry(3, "Member", 2, False, 2, ()),
)
LOADED: Final = GroupLoader(
    leads=True,
    leader_epoch=1,
    events=(),
    epoch=1,
    state="Active",
    entries=ENTRIES,
    end_offset=4,
    position=4,
    members=(ReadMember(True, 1, 1, (1,)), NO_ENTRIES, NO_ENTRIES),
    held=(HeldPartition(1, 1),),
)


# A consumer has partition 1, and has committed what it was handed out; partition 2 it has not.
KEPT: Final = GroupOffsets(
    committed=(CommittedOffset(1, 1, 1), CommittedOffset(2, 3, 1)),
    group="Stable",
    since=1,
    now=2,
    taken=(1,),
    positions=(FetchPosition(1, 2, 1),),
    update="None",
    asked=(),
    epoch=1,
    requested=(),
    revoking=(),
    transaction=1,
    open=False,
    pending=(),
    markers=(),
)


def migrated(p: int) -> MigratedMember:
    return MigratedMember("Classic", 2, (p,), (p,), (), (), left=False)


def _owning(*owned: tuple[int, ...]) -> tuple[MigratingClient, ...]:
    found = [MigratingClient("Classic", False, "Stable", 2, each) for each in owned]
    return (*found, NO_CONSUMER)


# A classic member has partition 1, another one partition 2; the group is a consumer group.
MIGRATED: Final = GroupMigration(
    type="Consumer",
    policy="Bidirectional",
    epoch=2,
    target_epoch=2,
    members=(migrated(1), migrated(2), NOT_RECORDED),
    rebalancing=False,
    joined=(),
    clients=_owning((1,), (2,)),
    told=BOTH,
)


def settled() -> Rows:
    """Each member has one partition."""
    return {
        COORDINATOR: coordinator(GROUP),
        1: consumer(1),
        2: consumer(2),
        3: INITIAL_MEMBER,
        LOADER: LOADED,
        OFFSETS: KEPT,
        MIGRATION: MIGRATED,
    }


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


def _loaded(**changes: Any) -> Rows:
    return {**settled(), LOADER: replace(LOADED, **changes)}


def _kept(**changes: Any) -> Rows:
    return {**settled(), OFFSETS: replace(KEPT, **changes)}


def _migrated(**changes: Any) -> Rows:
    return {**settled(), MIGRATION: replace(MIGRATED, **changes)}


GONE: Final[dict[str, Any]] = {"taken": (), "positions": ()}


def plants() -> tuple[Plant, ...]:
    waited = with_member(1, state="Unrevoked", pending=(2,), target=(1,))
    waited = replace(waited, members=(waited.members[0], *NOBODY))
    lonely = replace(GROUP, members=(replace(record(1), target=BOTH), *NOBODY), held=(1,))
    taken = replace(GROUP, members=(replace(record(1), assigned=BOTH), *NOBODY))
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
        "TargetIsWhole": _knowing(with_member(1, target=())),
        "StaticIdentity": _knowing(replace(GROUP, members=(*GROUP.members[:2], record(2)))),
        "KeptIsNotFetched": _knowing(with_member(2, epoch=RELEASED_EPOCH)),
        "ReplacedHasLeft": _knowing(
            replace(GROUP, members=(GROUP.members[0], NO_MEMBER, record(2)))
        ),
    }
    # Of the last promise each part.
    other = (replace(LOADED.members[0], epoch=2), *LOADED.members[1:])
    gone = replace(INITIAL_MEMBER, state="Fatal")
    more = [
        ("NobodyGivesUp", {**settled(), 1: gone}),
        ("Coordinated", _loaded(state="Inactive")),
        ("Coordinated", _loaded(leads=False)),
        ("LoadSucceeds", _loaded(state="Failed", events=(LeaderChange(False, 2),))),
        ("ReplayEqual", _loaded(members=(LOADED.members[0],) * 3)),
        ("ReplayEqual", _loaded(members=(NO_ENTRIES,) * 3, held=())),
        ("ReplayEqual", _loaded(members=other, held=(HeldPartition(1, 2),))),
        ("ReplayEqual", _loaded(held=())),
        ("ReplayEqual", _loaded(members=(replace(LOADED.members[0], id=2), *LOADED.members[1:]))),
    ]
    late = [
        ("CommitsHandedOut", _kept(committed=(CommittedOffset(1, 2, 1), KEPT.committed[1]))),
        ("StartAtCommitted", _kept(positions=(*KEPT.positions, FetchPosition(2, 0, 0)))),
        ("OffsetsKept", _kept(committed=KEPT.committed[:1])),
        (
            "HandoverNoRegress",
            _kept(committed=(KEPT.committed[0], CommittedOffset(2, 2, 2))),
        ),
    ]
    changed = (*after.items(), *more, *late, *_of_migration())
    empty = [
        Plant("OffsetsKept", _kept(**before), _kept(**before, committed=()))
        for before in (
            {"group": "Empty", "now": 2, **GONE},
            {"group": "Empty", "now": 9, "since": 8, **GONE},
            {"group": "Rebalancing", "now": 9, **GONE},
        )
    ]
    given_up = [
        Plant("GivenUpIsCommitted", _kept(revoking=(1,)), _kept(**GONE, committed=committed))
        for committed in (KEPT.committed[1:], (CommittedOffset(1, 0, 1), KEPT.committed[1]))
    ]
    steps = (*empty, *given_up, *_of_transactions(), *_of_deleted())
    return (*[Plant(name, settled(), rows) for name, rows in changed], *steps)


def _of_migration() -> Iterator[tuple[str, Rows]]:
    twice = replace(migrated(1), pending=(2,))
    yield "RecordedOnce", _migrated(members=(twice, *MIGRATED.members[1:]))
    yield "OneOwnerInMigration", _migrated(clients=_owning(BOTH, (2,)))
    yield "NoOrphan", _migrated(clients=_owning((1,), ()))
    yield "GenerationKept", _migrated(epoch=1)


def _of_transactions() -> Iterator[Plant]:
    sent = {"pending": (PendingOffset(1, 1, 1),)}
    for markers, committed in (
        ((), KEPT.committed),
        ((TransactionMarker(2, commits=True),), KEPT.committed),
        ((TransactionMarker(1, commits=True),), KEPT.committed[1:]),
    ):
        yield Plant(
            "PendingByOwnMarker", _kept(**sent, markers=markers), _kept(committed=committed)
        )
    others = TransactionMarker(1, commits=False, producer=OF_OTHERS)
    yield Plant("PendingByOwnMarker", _kept(**sent, markers=(others,)), _kept())
    # It is old enough, and a transaction has sent another one.
    spared: dict[str, Any] = {"group": "Empty", "now": 9, "committed": KEPT.committed[:1], **GONE}
    yield Plant("OffsetsKept", _kept(**spared, **sent), _kept(**spared | {"committed": ()}))
    dead: dict[str, Any] = {"group": "Dead", "committed": (), **GONE}
    yield Plant("OffsetsKept", _kept(**GONE), _kept(**dead))


def _of_deleted() -> Iterator[Plant]:
    """Each of what could be left."""
    none: dict[str, Any] = {"deleted": (1,), "committed": KEPT.committed[1:], "positions": ()}
    sent, asked = PendingOffset(1, 1, 1), RequestedCommit(1, 1, 1)
    yield Plant("NothingOfDeleted", _kept(), _kept(**none | {"committed": KEPT.committed}))
    yield Plant("NothingOfDeleted", _kept(), _kept(**none | {"positions": KEPT.positions}))
    yield Plant("NothingOfDeleted", _kept(pending=(sent,)), _kept(**none, pending=(sent,)))
    yield Plant("NothingOfDeleted", _kept(requested=(asked,)), _kept(**none, requested=(asked,)))
    # The new topic of the name has been committed to, or not.
    new = (CommittedOffset(1, 0, 1, anew=True), KEPT.committed[1])
    gone = {"deleted": (1,), "committed": KEPT.committed[1:]}
    yield Plant("OffsetsKept", _kept(renewed=(1,), committed=new), _kept(**gone))
    yield Plant("NothingOfDeleted", _kept(renewed=(1,)), _kept(deleted=(1,)))
    found = (FetchPosition(1, 1, 1),)
    yield Plant(
        "StartAtCommitted", _kept(renewed=(1,), positions=()), _kept(renewed=(1,), positions=found)
    )


EMPTY: Final[dict[str, Any]] = {"group": "Empty", **GONE}
DELETED: Final[dict[str, Any]] = {"group": "Dead", "committed": (), **GONE}
TWINS: Final = (Plant("OffsetsKept", _kept(**EMPTY), _kept(**DELETED)),)
PLANTED: Final = Planted(GROUPS, THREE, initial_rows(GROUPS, THREE), settled(), plants(), TWINS)
