"""A consumer group, as one protocol: its coordinator and its members."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain, combinations
from typing import Any, Final

from reference.groups.client import MemberHandlers, is_member
from reference.groups.coordinator import CoordinatorHandlers
from reference.groups.log import initial_log, newest
from reference.groups.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    LOADER,
    LOADER_INPUTS,
    MEMBER_INPUTS,
    MESSAGES,
    ChangeGroupLeader,
    CleanGroupLog,
    CompleteReconciliation,
    GroupCommit,
    GroupHeartbeat,
    GroupSessionTimeout,
    GroupWrite,
    HeartbeatTimeout,
    Input,
    LeaderEvent,
    MoveCoordinator,
    ReadGroupLog,
    RebalanceTimeout,
    SendGroupHeartbeat,
    StartReconciliation,
    Subscribe,
    Unsubscribe,
)
from reference.groups.properties import PROPERTIES
from reference.groups.replay import LoaderHandlers, last_of_keys
from reference.groups.rules import GroupRules
from reference.groups.types import (
    INITIAL_MEMBER,
    Constants,
    GroupCoordinator,
    GroupLoader,
    GroupMember,
    initial_group,
    initial_loader,
)
from reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World

MOST_EVENTS, MOST_ENTRIES = 2, 8
"""Of runs."""

COORDINATOR_KIND: Final = NodeKind(
    name="group-coordinator",
    module="GroupNodes",
    row=GroupCoordinator,
    inputs=COORDINATOR_INPUTS,
    initial=lambda constants: GroupCoordinator(1, initial_log(initial_group(constants)), ()),
    first_row="InitialCoordinator",
    is_running=lambda row: True,
    role=lambda row: "Committed" if not row.log.leader else "Appended",
)
MEMBER_KIND: Final = NodeKind(
    name="group-member",
    module="GroupNodes",
    row=GroupMember,
    inputs=MEMBER_INPUTS,
    initial=lambda constants: INITIAL_MEMBER,
    first_row="InitialMember",
    is_running=lambda row: True,
    role=lambda row: row.state,
)
LOADER_KIND: Final = NodeKind(
    name="group-loader",
    module="GroupNodes",
    row=GroupLoader,
    inputs=LOADER_INPUTS,
    initial=initial_loader,
    first_row="InitialLoader",
    is_running=lambda row: True,
    role=lambda row: row.state,
)


def _kind_of(constants: Constants, n: int) -> NodeKind:
    return {COORDINATOR: COORDINATOR_KIND, LOADER: LOADER_KIND}.get(n, MEMBER_KIND)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: GroupRules = of(GroupRules)(constants)
    coordinator, members = CoordinatorHandlers(rules), MemberHandlers(rules)
    loader = LoaderHandlers(rules)

    def step(n: int, row: Any, input: Any) -> Any:
        if n == LOADER:
            return loader.step(row, input)
        return coordinator.step(row, input) if n == COORDINATOR else members.step(n, row, input)

    return step


# --- What comes to nodes by itself


def _local(constants: Constants, node: int, row: Any) -> Iterable[Input]:
    if node == COORDINATOR:
        return _of_coordinator(constants, row)
    if node == LOADER:
        return _of_loader(constants, row)
    return _of_member(constants, row)


def _of_coordinator(constants: Constants, row: GroupCoordinator) -> Iterator[Input]:
    if row.log.leader:
        yield GroupCommit()
    for n, member in zip(constants.members, newest(row.log).members, strict=True):
        if member.state != "None":
            yield GroupSessionTimeout(n)
        if member.state == "Unrevoked":
            yield RebalanceTimeout(n)
    if row.leader_epoch < constants.max_coordinators:
        yield from map(MoveCoordinator, row.log.tails)


def _of_member(constants: Constants, row: GroupMember) -> Iterator[Input]:
    topics = _some(constants.partitions)[1:]
    if row.state != "Fatal":
        yield from (Subscribe(some) for some in topics if some != row.subscribed)
    if not is_member(row):
        return
    if row.awaiting:
        yield HeartbeatTimeout()
    else:
        yield from (SendGroupHeartbeat(), Unsubscribe())
    if row.busy:
        yield CompleteReconciliation()
    elif row.state == "Reconciling":
        yield StartReconciliation()


def _of_loader(constants: Constants, row: GroupLoader) -> Iterator[Input]:
    """Logs stay short, so that they are soon read, and few events are under way."""
    if len(row.events) < MOST_EVENTS:
        yield ChangeGroupLeader()
    yield from map(LeaderEvent, row.events)
    if row.state == "Loading":
        yield ReadGroupLog()
    if last_of_keys(row.entries) != row.entries:
        yield CleanGroupLog()
    if len(row.entries) < MOST_ENTRIES and (not row.leads or row.state == "Active"):
        for n in constants.members:
            yield GroupWrite(n, (), True)
            yield from (GroupWrite(n, some, False) for some in _some(constants.partitions))


def _some(of: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All sets of these, the empty one first."""
    return [*chain.from_iterable(combinations(of, size) for size in range(len(of) + 1))]


# --- Runs


def _unpromised(options: Any) -> Collection[str]:
    """What the second coordinator answers without a record may be undone by the first one, if it
    comes back (groups-failovers of the models).
    """
    return ("SingleOwner", "OwnedIsHeld") if options.max_coordinators > 2 else ()


GROUPS: Final = Protocol(
    name="groups",
    sentence="a group's coordinator gives each partition to one of the members",
    constants=Constants,
    kinds=(COORDINATOR_KIND, MEMBER_KIND, LOADER_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    nodes=lambda constants: (COORDINATOR, *constants.members, LOADER),
    kind_of=_kind_of,
    handlers=_handlers,
    rules=(GroupRules,),
    world=World(
        constants={
            "members": ((1, 2), (1, 2, 3)),
            "partitions": ((1, 2), (1, 2, 3)),
            "max_coordinators": (2, 4),
            "max_correlation": (1000,),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(200, 400),
        unpromised=_unpromised,
        at_once=lambda message: isinstance(message, GroupHeartbeat),
        disturbances={
            GroupSessionTimeout: (0, 20, 100),
            RebalanceTimeout: (0, 50, 200),
            MoveCoordinator: (0, 20, 100),
            Subscribe: (50, 200),
            Unsubscribe: (0, 20, 100),
            HeartbeatTimeout: (0, 50, 200),
        },
    ),
)
PROTOCOL: Final = GROUPS
