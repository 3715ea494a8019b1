"""A consumer group, as one protocol: its coordinator and its members."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, combinations
from typing import Any, Final

from kraftcheck.reference.groups.client import MemberHandlers, is_member
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from kraftcheck.reference.groups.log import initial_log, latest_records, newest
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    LOADER,
    LOADER_INPUTS,
    MEMBER_INPUTS,
    MESSAGES,
    MIGRATION,
    MIGRATION_INPUTS,
    OF_OTHERS,
    OFFSETS,
    OFFSETS_INPUTS,
    AlterOffset,
    AskCommit,
    AskOffsets,
    AskTxnOffsets,
    AutoCommit,
    ChangeGroupLeader,
    CleanGroupLog,
    CloseConsumer,
    CompleteJoin,
    CompleteReconciliation,
    ConsumerHeartbeat,
    DeleteGroup,
    DeleteTopic,
    EndTransaction,
    ExpireMember,
    ExpireOffsets,
    FenceConsumer,
    FetchRecord,
    FinishRevocation,
    ForgetTopic,
    GroupChange,
    GroupCommit,
    GroupHeartbeat,
    GroupHeartbeatResponse,
    GroupRecord,
    GroupSessionTimeout,
    GroupState,
    GroupWrite,
    GrowTopic,
    HandOut,
    HearOffsets,
    HeartbeatTimeout,
    Input,
    KillConsumer,
    LeaderEvent,
    LeaveForAWhile,
    MaterialiseMarker,
    MoveCoordinator,
    MoveMigrated,
    OthersCommit,
    OthersSend,
    ReadGroupLog,
    RebalanceTimeout,
    RejoinClassic,
    RenewTopic,
    ReplaceMember,
    ResetRest,
    RestartAsClassic,
    RestateMember,
    SendCommit,
    SendGroupHeartbeat,
    SendTxnOffsets,
    StartConsumer,
    StartReconciliation,
    StartRevocation,
    Subscribe,
    SyncClassic,
    TakePartition,
    TimePasses,
    Unsubscribe,
)
from kraftcheck.reference.groups.migration import MigrationHandlers
from kraftcheck.reference.groups.offsets import OffsetsHandlers, is_open, without_position
from kraftcheck.reference.groups.properties import PROPERTIES
from kraftcheck.reference.groups.replay import LoaderHandlers, is_to_clean, known_of
from kraftcheck.reference.groups.rules import GroupRules, holding
from kraftcheck.reference.groups.sometimes import sometimes
from kraftcheck.reference.groups.types import (
    INITIAL_MEMBER,
    INITIAL_OFFSETS,
    Constants,
    GroupCoordinator,
    GroupLoader,
    GroupMember,
    GroupMigration,
    GroupOffsets,
    initial_group,
    initial_loader,
    initial_migration,
)
from kraftcheck.reference.kit.membership import Membership
from kraftcheck.reference.kit.protocol import (
    ByNode,
    CoordinatorLog,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    Witness,
    World,
)

MOST_EVENTS, MOST_ENTRIES = 2, 8
"""Of runs."""

COORDINATOR_KIND: Final = NodeKind(
    name="group-coordinator",
    module="GroupNodes",
    row=GroupCoordinator,
    inputs=COORDINATOR_INPUTS,
    initial=lambda constants: GroupCoordinator(1, initial_log(initial_group(constants)), ()),
    first_row="InitialCoordinator",
    role=lambda row: "Committed" if not row.log.leader else "Appended",
)
MEMBER_KIND: Final = NodeKind(
    name="group-member",
    module="GroupNodes",
    row=GroupMember,
    inputs=MEMBER_INPUTS,
    initial=lambda constants: INITIAL_MEMBER,
    first_row="InitialMember",
    role=lambda row: row.state,
)
LOADER_KIND: Final = NodeKind(
    name="group-loader",
    module="GroupNodes",
    row=GroupLoader,
    inputs=LOADER_INPUTS,
    initial=initial_loader,
    first_row="InitialLoader",
    role=lambda row: row.state,
)
OFFSETS_KIND: Final = NodeKind(
    name="group-offsets",
    module="GroupNodes",
    row=GroupOffsets,
    inputs=OFFSETS_INPUTS,
    initial=lambda constants: INITIAL_OFFSETS,
    first_row="InitialOffsets",
    role=lambda row: row.group,
)

MIGRATION_KIND: Final = NodeKind(
    name="group-migration",
    module="GroupNodes",
    row=GroupMigration,
    inputs=MIGRATION_INPUTS,
    initial=initial_migration,
    first_row="InitialMigration",
    role=lambda row: row.type,
)
ALONE: Final = {
    COORDINATOR: COORDINATOR_KIND,
    LOADER: LOADER_KIND,
    OFFSETS: OFFSETS_KIND,
    MIGRATION: MIGRATION_KIND,
}


def _kind_of(constants: Constants, n: int) -> NodeKind:
    return ALONE.get(n, MEMBER_KIND)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: GroupRules = of(GroupRules)(constants)
    alone: dict[int, Any] = {
        COORDINATOR: of(CoordinatorHandlers)(rules),
        LOADER: of(LoaderHandlers)(rules),
        OFFSETS: of(OffsetsHandlers)(rules),
        MIGRATION: of(MigrationHandlers)(rules),
    }
    return ByNode(alone, of(MemberHandlers)(rules))


# --- What comes to nodes by itself


def of_coordinator(constants: Constants, row: GroupCoordinator) -> Iterator[Input]:
    if row.log.leader:
        yield GroupCommit()
    group = newest(row.log)
    for n, member in zip(constants.members, group.members, strict=True):
        if member.state != "None":
            yield GroupSessionTimeout(n)
        if member.state == "Unrevoked":
            yield RebalanceTimeout(n)
    for p in constants.growing:
        if p in group.grown:
            yield DeleteTopic(p)
        elif p not in group.gone:
            yield GrowTopic(p)
    if row.leader_epoch < constants.max_coordinators:
        yield from map(MoveCoordinator, row.log.tails)


def of_member(constants: Constants, row: GroupMember) -> Iterable[Input]:
    subscribes = _subscribes(constants.partitions)
    found = [each for each in subscribes if each.topics != row.subscribed and row.state != "Fatal"]
    if not is_member(row):
        return found
    found += (HeartbeatTimeout(),) if row.awaiting else (SendGroupHeartbeat(), Unsubscribe())
    if row.busy:
        found.append(CompleteReconciliation())
    elif row.state == "Reconciling":
        found.append(StartReconciliation())
    return found


@cache
def _subscribes(partitions: tuple[int, ...]) -> list[Any]:
    """Made once, as are those of a loader and of migrated members: there are many in each row."""
    return [Subscribe(some) for some in _some(partitions)[1:]]


def _of_loader(constants: Constants, row: GroupLoader) -> Iterable[Input]:
    """Logs stay short, so that they are soon read, and few events are under way."""
    found: list[Input] = [ChangeGroupLeader()] if len(row.events) < MOST_EVENTS else []
    found += map(LeaderEvent, row.events)
    if row.state == "Loading":
        found.append(ReadGroupLog())
    if is_to_clean(row.entries):
        found.append(CleanGroupLog())
    if len(row.entries) >= MOST_ENTRIES:
        return found
    if row.leads and row.state == "Active":
        known = zip(constants.members, row.members, strict=True)
        found += [ReplaceMember(n) for n, member in known if member.known]
    if not row.leads or row.state == "Active":
        found += _writes(constants.members, constants.partitions)
        if constants.static:
            static = {n for sharing in constants.static for n in sharing}
            found += [RestateMember(n) for n in sorted(static & known_of(row.entries).keys())]
    return found


@cache
def _writes(members: tuple[int, ...], partitions: tuple[int, ...]) -> list[GroupWrite]:
    return [
        GroupWrite(n, some, removed=removed)
        for n in members
        for some, removed in (((), True), *[(each, False) for each in _some(partitions)])
    ]


def _of_offsets(constants: Constants, row: GroupOffsets) -> Iterable[Input]:
    found: list[Input] = []
    if row.group == "Stable":
        found += [TakePartition(p) for p in constants.partitions if p not in row.taken]
    for p in row.taken:
        found.append(FinishRevocation(p) if p in row.revoking else StartRevocation(p))
    for position in row.positions:
        p = position.partition
        if position.fetched > position.handed_out:
            found.append(HandOut(p))
        elif p not in row.revoking:
            found.append(FetchRecord(p))
    if row.update != "None" or without_position(row):
        found.append(UPDATES[row.update]())
    found.append(TimePasses())
    if row.positions:
        found.append(AutoCommit())
        found += [AskCommit(each.partition) for each in row.positions if not row.requested]
    if row.requested:
        found.append(SendCommit())
    found += [SendTxnOffsets(each.partition) for each in row.positions]
    if row.open:
        found += (EndTransaction(True), EndTransaction(False))
    found += map(MaterialiseMarker, row.markers)
    if row.taken:
        found.append(FenceConsumer())
    found += [OthersCommit(e.partition) for e in row.committed if e.partition not in row.taken]
    if row.committed:
        found.append(ExpireOffsets())
    if constants.growing:
        there = {each.partition for some in (row.committed, row.pending) for each in some}
        for p in (p for p in constants.growing if p in there and p not in row.deleted):
            found += (ForgetTopic(p, True), ForgetTopic(p, False))
    found += map(GroupChange, CHANGES[row.group][: 1 if row.taken else 2])
    return [*found, *_beside(constants, row)]


def _beside(constants: Constants, row: GroupOffsets) -> Iterator[Input]:
    """What comes on request alone, and so stands at the end."""
    if is_open(row, OF_OTHERS):
        yield EndTransaction(True, OF_OTHERS)
        yield EndTransaction(False, OF_OTHERS)
    if row.group != "Dead":
        yield DeleteGroup()
    if row.group == "Empty":
        yield from map(AlterOffset, constants.partitions)
    if row.group == "Stable":
        yield from (OthersSend(p) for p in constants.partitions if p not in row.taken)
    if not row.requested:
        yield from (AskTxnOffsets(each.partition) for each in row.positions)
    yield from map(RenewTopic, sorted({*constants.growing} - {*row.deleted} - {*row.renewed}))


UPDATES: Final = {"None": AskOffsets, "Asked": HearOffsets, "Heard": ResetRest}
CHANGES: Final[Mapping[GroupState, tuple[GroupState, ...]]] = {
    "Empty": ("Rebalancing",),
    "Rebalancing": ("Stable", "Empty"),
    "Stable": ("Rebalancing", "Empty"),
    "Dead": ("Rebalancing",),
}


def _of_migration(constants: Constants, row: GroupMigration) -> Iterable[Input]:
    found: list[Input] = []
    for n, client in zip(constants.members, row.clients, strict=True):
        found += _comes(n) if client.state == "Closed" else _goes_on(n)
        if client.state == "Stable" and client.protocol == "Consumer":
            found.append(LeaveForAWhile(n))
        if client.state == "Joining" and client.protocol == "Classic":
            found.append(RejoinClassic(n))
        if client.state == "Syncing":
            found.append(SyncClassic(n))
    for n, member in zip(constants.members, row.members, strict=True):
        if member.protocol != "None":
            found.append(ExpireMember(n))
        if member.protocol == "Consumer":
            found.append(RestartAsClassic(n))
    if row.joined:
        found.append(CompleteJoin())
    found += MOVES
    return found


@cache
def _comes(n: int) -> tuple[Input, ...]:
    classic = [StartConsumer(n, "Classic", cooperative) for cooperative in (False, True)]
    return (*classic, StartConsumer(n, "Consumer", cooperative=False))


@cache
def _goes_on(n: int) -> tuple[Input, ...]:
    return CloseConsumer(n), KillConsumer(n), ConsumerHeartbeat(n)


MOVES: Final = (MoveMigrated("Bidirectional"), MoveMigrated("Upgrade"))

LOCAL: Final[Mapping[int, Callable[[Constants, Any], Iterable[Input]]]] = {
    COORDINATOR: of_coordinator,
    LOADER: _of_loader,
    OFFSETS: _of_offsets,
    MIGRATION: _of_migration,
}


def _local(constants: Constants, node: int, row: Any) -> Iterable[Input]:
    return LOCAL.get(node, of_member)(constants, row)


@cache
def _some(of: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All sets of these, the empty one first."""
    return [*chain.from_iterable(combinations(of, size) for size in range(len(of) + 1))]


# --- Runs


def unpromised(options: Any) -> Collection[str]:
    """Name answers of the second coordinator that the first one may undo if it comes back.

    It gave them without a record (groups-failovers of the models).
    """
    left = ("SingleOwner", "OwnedIsHeld", "KeptIsNotFetched", "ReplacedHasLeft")
    return left if options.max_coordinators > 2 else ()


def has(row: GroupMember) -> Collection[int]:
    """What a member has: what it fetches, and until its callback is over what it gives up."""
    return row.owned if row.owned == row.current else {*row.owned, *row.current}


def given(group: GroupRecord) -> Iterable[Collection[int] | None]:
    """What each member has by the log."""
    for member in group.members:
        yield None if member.state == "None" else holding(member)


MEMBERSHIP: Final = Membership(
    coordinator=COORDINATOR,
    has=has,
    loses=lambda input: isinstance(input, GroupHeartbeatResponse) and input.error != "NONE",
    given=given,
)


GROUPS: Final = Protocol(
    name="groups",
    sentence="a group's coordinator gives each partition to one of the members",
    constants=Constants,
    kinds=(COORDINATOR_KIND, MEMBER_KIND, LOADER_KIND, OFFSETS_KIND, MIGRATION_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    apart=lambda constants: constants.static,
    nodes=lambda constants: (COORDINATOR, *constants.members, LOADER, OFFSETS, MIGRATION),
    kind_of=_kind_of,
    handlers=_handlers,
    rules=(GroupRules,),
    handler_classes=(
        *(CoordinatorHandlers, LoaderHandlers, OffsetsHandlers, MigrationHandlers),
        MemberHandlers,
    ),
    sometimes=tuple(sometimes.all),
    witness=Witness("GroupCoordinatorService", fewest=2, most=5, usual=4),
    coordinated=CoordinatorLog(COORDINATOR, MoveCoordinator, latest_records),
    world=World(
        constants={
            "members": ((1, 2), (1, 2, 3)),
            "partitions": ((1, 2), (1, 2, 3)),
            "max_coordinators": (2, 4),
            "max_correlation": (1000,),
            "static": ((),),
            "growing": ((),),
        },
        # A move is soon spent on a log in which everything is committed.
        on_request={
            "max_coordinators": (12,),
            "ask_txn_offsets": (200,),
            "others_send": (200,),
            "alter_offset": (200,),
            "delete_group": (200,),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(300, 600),
        unpromised=unpromised,
        promises=MEMBERSHIP.promise(),
        at_once=lambda message: isinstance(message, GroupHeartbeat),
        disturbances={
            GroupSessionTimeout: (0, 20, 100),
            RebalanceTimeout: (0, 50, 200),
            MoveCoordinator: (0, 20, 100),
            Subscribe: (50, 200),
            StartRevocation: (200, 500),
            FenceConsumer: (50, 200),
            CloseConsumer: (20, 100),
            LeaveForAWhile: (0, 10, 50),
            KillConsumer: (0, 10, 50),
            ExpireMember: (0, 10, 50),
            RestartAsClassic: (0, 10, 50),
            MoveMigrated: (0, 10, 50),
            Unsubscribe: (0, 20, 100),
            HeartbeatTimeout: (0, 50, 200),
            AskTxnOffsets: (),
            OthersSend: (),
            AlterOffset: (),
            DeleteGroup: (),
            RenewTopic: (),
        },
    ),
)
PROTOCOL: Final = GROUPS
