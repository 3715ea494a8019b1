"""A broker that hosts a replica of what the metadata say, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from kraftcheck.reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World
from kraftcheck.reference.partition.hosting.handlers import HostingHandlers
from kraftcheck.reference.partition.hosting.messages import (
    INPUTS,
    Acknowledge,
    ApplyRecords,
    AssignmentChanged,
    CancelMove,
    FutureCaughtUp,
    HostCrash,
    HostRestart,
    Input,
    IsrChanged,
    JoinIsr,
    LeaderChanged,
    LoadSnapshot,
    LogDirFailure,
    MoveReplica,
    PromoteFuture,
    Propose,
    ReportDirectory,
    TopicCreated,
    TopicDeleted,
    TransactionAborted,
)
from kraftcheck.reference.partition.hosting.properties import PROPERTIES
from kraftcheck.reference.partition.hosting.rules import HostingRules
from kraftcheck.reference.partition.hosting.sometimes import sometimes
from kraftcheck.reference.partition.hosting.types import Constants, HostRow, initial_host_row

HOST_KIND: Final = NodeKind(
    name="hosting-broker",
    module="Hosting",
    row=HostRow,
    inputs=INPUTS,
    initial=initial_host_row,
    is_running=lambda row: bool(row.running),
    running="Running",
    role=lambda row: "Running" if row.running else "Down",
)

ALWAYS: Final[tuple[Input, ...]] = (
    *(
        TopicCreated(True),
        TopicCreated(False),
        TopicDeleted(),
        AssignmentChanged(),
        LeaderChanged(),
    ),
    *(IsrChanged(), JoinIsr(), Acknowledge(), ApplyRecords(), LoadSnapshot(), FutureCaughtUp()),
    *(PromoteFuture(), CancelMove(), Propose(), HostCrash(), TransactionAborted()),
)


def _local(constants: Constants, _: int, row: HostRow) -> Iterator[Input]:
    """All that may come to a broker and its metadata."""
    yield from ALWAYS
    for each in constants.directories:
        yield from (LogDirFailure(each), ReportDirectory(each), MoveReplica(each))
    if not row.running:
        for size in range(1, len(constants.directories) + 1):
            yield from map(HostRestart, combinations(constants.directories, size))


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    broker = of(HostingHandlers)(constants, of(HostingRules)(constants))
    return lambda node, row, input: broker.step(row, input)


HOSTING: Final = Protocol(
    name="hosting",
    sentence="a broker's replica follows the metadata, in directories that fail",
    constants=Constants,
    kinds=(HOST_KIND,),
    messages=(),
    alike="brokers",
    peers=lambda constants: constants.brokers,
    nodes=lambda constants: constants.brokers,
    kind_of=lambda constants, node: HOST_KIND,
    handlers=_handlers,
    rules=(HostingRules,),
    handler_classes=(HostingHandlers,),
    sometimes=tuple(sometimes.all),
    world=World(
        constants={
            "brokers": ((1,), (1, 2)),
            "directories": ((1, 2), (1,), (1, 2, 3)),
            "sole": (False, True),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(200, 400),
        disturbances={
            TopicDeleted: (50, 200, 300),
            AssignmentChanged: (50, 200),
            TransactionAborted: (50, 200),
            LeaderChanged: (100, 400),
            LoadSnapshot: (100, 400),
            LogDirFailure: (50, 200),
            CancelMove: (200, 500),
            HostCrash: (20, 100, 300),
        },
    ),
)
PROTOCOL: Final = HOSTING
