"""A consumer group whose members commit offsets, as one protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kraftcheck.reference.groups import protocol as groups
from kraftcheck.reference.groups.commits.handlers import (
    CommitsCoordinatorHandlers,
    CommittingMemberHandlers,
    latest_records,
)
from kraftcheck.reference.groups.commits.messages import (
    COORDINATOR_INPUTS,
    MEMBER_INPUTS,
    MESSAGES,
    AskOffset,
    CommitOffsets,
    CommitTimeout,
    MoveCoordinator,
    OffsetCommit,
    OffsetCommitResponse,
    OffsetFetch,
    OffsetFetchResponse,
    RequestCommit,
)
from kraftcheck.reference.groups.commits.properties import PROPERTIES
from kraftcheck.reference.groups.commits.rules import CommitRules
from kraftcheck.reference.groups.commits.sometimes import sometimes
from kraftcheck.reference.groups.commits.types import (
    NO_POSITION,
    CommitsCoordinator,
    CommittingMember,
    Constants,
    first_member,
    initial_coordinator,
)
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    GroupHeartbeat,
    GroupSessionTimeout,
    HeartbeatTimeout,
    MoveCoordinator as GroupMove,
    RebalanceTimeout,
    Subscribe,
    Unsubscribe,
)
from kraftcheck.reference.kit.membership import happened
from kraftcheck.reference.kit.protocol import (
    Answered,
    Asked,
    ByNode,
    CoordinatorLog,
    Handlers,
    NodeKind,
    Outcome,
    Protocol,
    Substitution,
    World,
)

MOST_RECORDS: Final = 40
"""Of the partition, in a run."""
NOT_COMMITTED: Final = -1
"""What a history has in the place of an offset where none is committed."""

COORDINATOR_KIND: Final = NodeKind(
    name="committing-coordinator",
    module="CommitHandlers",
    row=CommitsCoordinator,
    inputs=COORDINATOR_INPUTS,
    initial=initial_coordinator,
    first_row="InitialCommitsCoordinator",
    role=groups.COORDINATOR_KIND.role,
    replaces=(("WithMember", "[GroupHandlers] WithMemberSince"),),
)
MEMBER_KIND: Final = NodeKind(
    name="committing-member",
    module="CommitHandlers",
    row=CommittingMember,
    inputs=MEMBER_INPUTS,
    initial=first_member,
    first_row="FirstMember",
    role=groups.MEMBER_KIND.role,
    replaces=(
        ("InitialMember", "[MembershipClient] InitialCommittingMember"),
        ("Doing", "[MembershipClient] DoingWithPosition"),
        ("Fenced", "[MembershipClient] FencedCommitting"),
    ),
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: CommitRules = of(CommitRules)(constants)
    coordinator = of(CommitsCoordinatorHandlers)(rules)
    return ByNode({COORDINATOR: coordinator}, of(CommittingMemberHandlers)(rules))


# --- What comes to nodes by itself


def _local(constants: Constants, node: int, row: Any) -> Iterable[Any]:
    return _of_coordinator(constants, row) if node == COORDINATOR else _of_member(constants, row)


def _of_coordinator(constants: Constants, row: CommitsCoordinator) -> Iterator[Any]:
    for each in groups.of_coordinator(constants, row):
        if isinstance(each, GroupMove):
            tail: Any = each.tail
            each = MoveCoordinator(tail)
        yield each


def _of_member(constants: Constants, row: CommittingMember) -> Iterator[Any]:
    """Yield the inputs of a member; all members subscribe to all partitions.

    A member that unsubscribes would lose partitions in its present epoch, and Kafka compares only
    the epoch of a commit.
    """
    if row.state == "Unsubscribed":
        yield Subscribe(constants.partitions)
    yield from (each for each in groups.of_member(constants, row) if type(each) is not Subscribe)
    if constants.followed in row.owned and row.position == NO_POSITION:
        yield AskOffset()
    elif not row.requested and NO_POSITION != row.position < MOST_RECORDS:
        yield RequestCommit(row.position + 1)
    for each in row.requested:
        yield CommitTimeout() if each.sent else CommitOffsets()


# --- What members tell


def _begins(
    constants: Constants, n: int, row: CommittingMember, m: OffsetFetchResponse, outcome: Outcome
) -> Iterator[Asked | Answered]:
    """It is told what is committed, if it still waits for that; 0: nothing is."""
    if not outcome.ignored:
        told = m.offset or NOT_COMMITTED
        yield from happened("told", n, constants.followed, result=told)


def _reads(
    constants: Constants, n: int, row: CommittingMember, input: RequestCommit, outcome: Outcome
) -> Iterator[Asked | Answered]:
    yield from happened("read", n, constants.followed, row.position, input.offset)


def _commits(
    constants: Constants, n: int, row: CommittingMember, input: CommitOffsets, outcome: Outcome
) -> Iterator[Asked | Answered]:
    for each in row.requested:
        id = n, each.offset, each.epoch
        yield Asked(id, "commit", each.offset, constants.followed, n)


def _is_answered(
    constants: Constants, n: int, row: CommittingMember, m: OffsetCommitResponse, outcome: Outcome
) -> Iterator[Asked | Answered]:
    """Of an error nothing is told: what was sent before may have been accepted."""
    if not outcome.ignored and m.error == "NONE":
        yield Answered((n, m.offset, m.epoch))


MEMBERSHIP: Final = groups.MEMBERSHIP._replace(
    more={
        OffsetFetchResponse: _begins,
        RequestCommit: _reads,
        CommitOffsets: _commits,
        OffsetCommitResponse: _is_answered,
    }
)


COMMITS: Final = Protocol(
    name="commits",
    sentence="a group's members commit what they were handed out, also when partitions move",
    constants=Constants,
    kinds=(COORDINATOR_KIND, MEMBER_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    nodes=lambda constants: (COORDINATOR, *constants.members),
    kind_of=lambda constants, n: COORDINATOR_KIND if n == COORDINATOR else MEMBER_KIND,
    handlers=_handlers,
    rules=(CommitRules,),
    handler_classes=(CommitsCoordinatorHandlers, CommittingMemberHandlers),
    extends=groups.GROUPS.name,
    sometimes=tuple(sometimes.all),
    coordinated=CoordinatorLog(COORDINATOR, MoveCoordinator, latest_records),
    world=World(
        constants={
            "members": ((1, 2), (1, 2, 3)),
            "partitions": ((1, 2), (1, 2, 3)),
            "max_coordinators": (2, 4),
            "max_correlation": (1000,),
            "static": ((),),
            "growing": ((), (2,)),
            "followed": (1,),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(300, 600),
        unpromised=groups.unpromised,
        promises=MEMBERSHIP.promise(),
        at_once=lambda message: isinstance(
            message,
            GroupHeartbeat
            | OffsetFetch
            | OffsetFetchResponse
            | OffsetCommit
            | OffsetCommitResponse,
        ),
        disturbances={
            GroupSessionTimeout: (0, 20, 100),
            RebalanceTimeout: (0, 50, 200),
            MoveCoordinator: (0, 20, 100),
            Unsubscribe: (0, 20, 100),
            HeartbeatTimeout: (0, 50, 200),
            CommitTimeout: (50, 200),
        },
    ),
)
