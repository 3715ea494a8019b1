"""A share group's partition, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

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
from kraftcheck.reference.shares.cells import next_fetch
from kraftcheck.reference.shares.consumer import ShareConsumerHandlers
from kraftcheck.reference.shares.coordinator import ShareCoordinatorHandlers, latest_records
from kraftcheck.reference.shares.deliveries import PROMISE
from kraftcheck.reference.shares.leader import ShareLeaderHandlers
from kraftcheck.reference.shares.messages import (
    CONSUMER_INPUTS,
    COORDINATOR,
    COORDINATOR_INPUTS,
    LEADER,
    LEADER_INPUTS,
    MESSAGES,
    AckKind,
    AcknowledgeRecords,
    AcknowledgeTimeout,
    ForgetRecord,
    GiveUpWrite,
    LockTimeout,
    MoveLeader,
    MoveLogStart,
    MoveShareCoordinator,
    PollRecords,
    ProduceBatch,
    Recreate,
    RetryPersister,
    SessionEnd,
    ShareAcknowledge,
    ShareAcknowledgeResponse,
    ShareFetch,
    ShareFetchResponse,
    StateCommit,
)
from kraftcheck.reference.shares.properties import PROPERTIES
from kraftcheck.reference.shares.rules import ShareRules
from kraftcheck.reference.shares.sometimes import sometimes
from kraftcheck.reference.shares.types import (
    INITIAL_CONSUMER,
    Constants,
    ShareConsumer,
    ShareCoordinator,
    ShareLeader,
    initial_coordinator,
    initial_leader,
)

KINDS_OF_ACKS: Final[tuple[AckKind, ...]] = ("ACCEPT", "RELEASE", "REJECT")

COORDINATOR_KIND: Final = NodeKind(
    name="share-coordinator",
    module="ShareHandlers",
    row=ShareCoordinator,
    inputs=COORDINATOR_INPUTS,
    initial=initial_coordinator,
    first_row="InitialShareCoordinator",
    role=lambda row: "Committed" if not row.log.leader else "Appended",
)
LEADER_KIND: Final = NodeKind(
    name="share-leader",
    module="ShareHandlers",
    row=ShareLeader,
    inputs=LEADER_INPUTS,
    initial=initial_leader,
    first_row="InitialLeader",
    role=lambda row: row.phase,
)
CONSUMER_KIND: Final = NodeKind(
    name="share-consumer",
    module="ShareHandlers",
    row=ShareConsumer,
    inputs=CONSUMER_INPUTS,
    initial=lambda constants: INITIAL_CONSUMER,
    first_row="InitialConsumer",
    role=lambda row: "Holding" if row.held else "Idle",
)
ALONE: Final = {COORDINATOR: COORDINATOR_KIND, LEADER: LEADER_KIND}


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: ShareRules = of(ShareRules)(constants)
    alone: dict[int, Any] = {
        COORDINATOR: of(ShareCoordinatorHandlers)(rules),
        LEADER: of(ShareLeaderHandlers)(rules),
    }
    return ByNode(alone, of(ShareConsumerHandlers)(rules))


# --- What comes to nodes by itself


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    if node == COORDINATOR:
        return _of_coordinator(constants, row)
    return _of_leader(constants, row) if node == LEADER else _of_consumer(row)


def _of_coordinator(constants: Constants, row: ShareCoordinator) -> Iterator[Any]:
    yield StateCommit()
    if row.leader_epoch < constants.max_coordinators:
        yield from map(MoveShareCoordinator, row.log.tails)


def _of_leader(constants: Constants, row: ShareLeader) -> Iterator[Any]:
    yield from (LockTimeout(o) for o in constants.offsets if row.cells[o - 1].state != "None")
    yield from map(SessionEnd, constants.members)
    yield RetryPersister()
    for write in dict.fromkeys(ack.write for ack in row.pending):
        yield GiveUpWrite(write)
    yield from (ProduceBatch(), MoveLeader(), Recreate())
    yield from map(MoveLogStart, range(row.log_start + 1, row.high_watermark + 1))


def _of_consumer(row: ShareConsumer) -> Iterator[Any]:
    """An application acknowledges one record, or all that follow each other."""
    yield PollRecords()
    offsets = [each.offset for each in row.held]
    ranges = [(o, o) for o in offsets]
    for _, run in groupby(enumerate(offsets), key=lambda each: each[1] - each[0]):
        following = [offset for _, offset in run]
        if len(following) > 1:
            ranges.append((following[0], following[-1]))
    for first, last in ranges:
        for kind in KINDS_OF_ACKS:
            yield AcknowledgeRecords(first, last, kind)
    yield AcknowledgeTimeout()
    yield from map(ForgetRecord, offsets)


def _awaited(constants: Constants, rows: Mapping[int, Any], node: int, input: Any) -> bool:
    """Whether a poll finds something to do; all else may come at any time."""
    if type(input) is not PollRecords:
        return True
    leader: ShareLeader = rows[LEADER]
    if leader.phase != "Active":
        return leader.phase == "Empty"
    return next_fetch(leader) <= leader.high_watermark


SHARES: Final = Protocol(
    name="shares",
    sentence="a share group's consumers acknowledge records one by one; leaders and logs fail over",
    constants=Constants,
    kinds=(COORDINATOR_KIND, LEADER_KIND, CONSUMER_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    nodes=lambda constants: (COORDINATOR, LEADER, *constants.members),
    kind_of=lambda constants, n: ALONE.get(n, CONSUMER_KIND),
    handlers=_handlers,
    rules=(ShareRules,),
    handler_classes=(ShareCoordinatorHandlers, ShareLeaderHandlers, ShareConsumerHandlers),
    sometimes=tuple(sometimes.all),
    witness=Witness(
        "SharePartition, its manager and persister, and ShareCoordinatorShard",
        fewest=1,
        most=3,
        usual=2,
    ),
    coordinated=CoordinatorLog(COORDINATOR, MoveShareCoordinator, latest_records),
    world=World(
        constants={
            "members": ((1, 2), (1,), (1, 2, 3)),
            "records": (6, 4, 10),
            "bases": ((1, 2, 3, 4), (1, 2), (1, 4)),
            "max_delivery": (2, 1, 3),
            "max_in_flight": (3, 2, 6),
            "latest": (False, True),
            "max_leaders": (4, 12),
            "max_incarnations": (12, 24),
            "max_coordinators": (2, 8),
        },
        local=_local,
        properties=PROPERTIES,
        promises=PROMISE,
        moves=(600, 1200),
        at_once=lambda message: isinstance(
            message,
            ShareFetch | ShareFetchResponse | ShareAcknowledge | ShareAcknowledgeResponse,
        ),
        awaited=_awaited,
        disturbances={
            PollRecords: (300, 100),
            LockTimeout: (300, 1000),
            SessionEnd: (0, 200, 1000),
            RetryPersister: (1000, 300),
            GiveUpWrite: (0, 300, 1000),
            MoveLeader: (50, 200, 500),
            Recreate: (0, 50, 200),
            ProduceBatch: (200, 1000),
            MoveLogStart: (0, 30, 100),
            MoveShareCoordinator: (0, 50, 200),
            AcknowledgeTimeout: (0, 50),
            ForgetRecord: (0, 100),
        },
    ),
)
