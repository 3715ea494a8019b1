"""A group of the classic protocol, as one protocol: its coordinator and its members."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from kraftcheck.reference.groups.classic.coordinator import CoordinatorHandlers, latest_records
from kraftcheck.reference.groups.classic.member import MemberHandlers
from kraftcheck.reference.groups.classic.messages import (
    COORDINATOR,
    COORDINATOR_INPUTS,
    MEMBER_INPUTS,
    MESSAGES,
    REQUESTS,
    ClassicCommit,
    ClassicHeartbeatResponse,
    ClassicImage,
    ClassicRebalanceTimeout,
    ClassicRequestTimeout,
    ClassicSessionTimeout,
    Input,
    JoinGroupResponse,
    MoveClassicCoordinator,
    RequestRejoin,
    SendClassicHeartbeat,
    SendJoinGroup,
    SubscribeClassic,
    SyncGroupResponse,
    UnsubscribeClassic,
)
from kraftcheck.reference.groups.classic.properties import PROPERTIES
from kraftcheck.reference.groups.classic.rules import ClassicRules
from kraftcheck.reference.groups.classic.sometimes import sometimes
from kraftcheck.reference.groups.classic.types import (
    INITIAL_MEMBER,
    ClassicCoordinator,
    ClassicMember,
    Constants,
    initial_coordinator,
)
from kraftcheck.reference.kit.membership import Membership
from kraftcheck.reference.kit.protocol import (
    ByNode,
    CoordinatorLog,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    World,
)

COORDINATOR_KIND: Final = NodeKind(
    name="classic-coordinator",
    module="ClassicNodes",
    row=ClassicCoordinator,
    inputs=COORDINATOR_INPUTS,
    initial=initial_coordinator,
    first_row="InitialCoordinator",
    role=lambda row: row.state,
)
MEMBER_KIND: Final = NodeKind(
    name="classic-member",
    module="ClassicNodes",
    row=ClassicMember,
    inputs=MEMBER_INPUTS,
    initial=lambda constants: INITIAL_MEMBER,
    first_row="InitialMember",
    role=lambda row: row.state,
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: ClassicRules = of(ClassicRules)(constants)
    return ByNode({COORDINATOR: of(CoordinatorHandlers)(rules)}, of(MemberHandlers)(rules))


def _local(constants: Constants, node: int, row: Any) -> Iterator[Input]:
    return _of_coordinator(constants, row) if node == COORDINATOR else _of_member(row)


def _of_coordinator(constants: Constants, row: ClassicCoordinator) -> Iterator[Input]:
    if row.log.leader:
        yield ClassicCommit()
    yield from (
        ClassicSessionTimeout(n)
        for n, member in zip(constants.members, row.members, strict=True)
        if member.known
    )
    if row.state in ("Preparing", "Completing"):
        yield ClassicRebalanceTimeout()
    if row.leader_epoch < constants.max_coordinators:
        yield from map(MoveClassicCoordinator, row.log.tails)


def _of_member(row: ClassicMember) -> Iterator[Input]:
    if row.state == "Unsubscribed":
        yield SubscribeClassic()
    elif row.awaiting:
        yield ClassicRequestTimeout()
    else:
        yield UnsubscribeClassic()
        if row.state == "Joining":
            yield SendJoinGroup()
        if row.state == "Stable":
            yield from (SendClassicHeartbeat(), RequestRejoin())


def unpromised(options: Any) -> Collection[str]:
    """Properties that a run does not guarantee.

    A generation of the first coordinator that comes back may have the number of one of the second,
    whose members then receive the other's assignment (classic-moves-expiry of the models).
    """
    return ("SingleOwner",) if options.max_coordinators > 2 else ()


def _given(image: ClassicImage) -> Iterator[Collection[int] | None]:
    for member in image.members:
        yield member.assigned if member.known else None


def _loses(input: Any) -> bool:
    """A join that is answered with an error, and all errors of who is no member any more."""
    responses = JoinGroupResponse | SyncGroupResponse | ClassicHeartbeatResponse
    return isinstance(input, responses) and input.error != "NONE"


MEMBERSHIP: Final = Membership(
    coordinator=COORDINATOR,
    has=lambda row: row.owned,
    loses=_loses,
    given=_given,
    by_generation=True,
)


CLASSIC: Final = Protocol(
    name="classic",
    sentence="members of a group join together, and one of them assigns the partitions",
    constants=Constants,
    kinds=(COORDINATOR_KIND, MEMBER_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    nodes=lambda constants: (COORDINATOR, *constants.members),
    kind_of=lambda constants, n: COORDINATOR_KIND if n == COORDINATOR else MEMBER_KIND,
    handlers=_handlers,
    rules=(ClassicRules,),
    handler_classes=(CoordinatorHandlers, MemberHandlers),
    sometimes=tuple(sometimes.all),
    coordinated=CoordinatorLog(COORDINATOR, MoveClassicCoordinator, latest_records),
    world=World(
        constants={
            "members": ((1, 2), (1, 2, 3)),
            "partitions": ((1, 2), (1, 2, 3)),
            "cooperative": (True, False),
            "max_coordinators": (2, 4),
            "max_correlation": (1000,),
        },
        local=_local,
        properties=PROPERTIES,
        unpromised=unpromised,
        promises=MEMBERSHIP.promise(),
        moves=(150, 300),
        at_once=lambda message: isinstance(message, REQUESTS),
        disturbances={
            ClassicSessionTimeout: (0, 20, 100),
            ClassicRebalanceTimeout: (0, 20, 100),
            MoveClassicCoordinator: (0, 20, 100),
            RequestRejoin: (0, 50, 200),
            UnsubscribeClassic: (0, 20, 100),
            ClassicRequestTimeout: (0, 50, 200),
        },
    ),
)
PROTOCOL: Final = CLASSIC
