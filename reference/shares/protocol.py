"""A share group's partition, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from kraftcheck.reference.kit.protocol import (
    CoordinatorLog,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    World,
    by_node,
)
from kraftcheck.reference.shares.consumer import ShareConsumerHandlers
from kraftcheck.reference.shares.coordinator import ShareCoordinatorHandlers, said
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
    return by_node(alone, of(ShareConsumerHandlers)(rules))


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
    yield from map(LockTimeout, constants.offsets)
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
    coordinated=CoordinatorLog(COORDINATOR, MoveShareCoordinator, said),
    world=World(
        constants={
            "members": ((1, 2), (1,), (1, 2, 3)),
            "records": (4, 2, 6),
            "bases": ((1, 2), (1,)),
            "max_delivery": (2, 1, 3),
            "max_in_flight": (3, 2, 6),
            "latest": (False, True),
            "max_leaders": (3, 6),
            "max_incarnations": (6, 12),
            "max_coordinators": (2, 4),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(150, 300),
        at_once=lambda message: isinstance(
            message,
            ShareFetch | ShareFetchResponse | ShareAcknowledge | ShareAcknowledgeResponse,
        ),
        disturbances={
            LockTimeout: (50, 200),
            SessionEnd: (0, 20, 100),
            GiveUpWrite: (0, 20, 100),
            MoveLeader: (0, 20, 50),
            Recreate: (0, 20),
            MoveLogStart: (0, 10, 50),
            MoveShareCoordinator: (0, 20, 100),
            AcknowledgeTimeout: (0, 20),
            ForgetRecord: (0, 50),
        },
    ),
)
