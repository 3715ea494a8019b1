"""Controllers that join and leave the voters of a quorum, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kraftcheck.reference.kit.protocol import Handlers, NodeKind, Protocol, Substitution, World
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.types import READY, is_running
from kraftcheck.reference.quorum.voters.handlers import InForceHandlers, VoterHandlers
from kraftcheck.reference.quorum.voters.messages import (
    INPUTS,
    MESSAGES,
    AddVoter,
    AutoJoinTimeout,
    ChangeListeners,
    FetchFromBootstrap,
    Input,
    RemoveVoter,
    ReplaceDisk,
    UpdateVoterTimeout,
    UpgradeKraftVersion,
    VoterChangeTimeout,
)
from kraftcheck.reference.quorum.voters.properties import PROPERTIES, committed_next
from kraftcheck.reference.quorum.voters.rules import VoterRules
from kraftcheck.reference.quorum.voters.sometimes import sometimes
from kraftcheck.reference.quorum.voters.types import Constants, VoterRow, initial_voter_row

LONGEST: Final = 12
"""Of logs of runs, for clients' records; those of leaders and of changes come on top."""

CONTROLLER_KIND: Final = NodeKind(
    name="quorum-controller",
    module="VoterChanges",
    row=VoterRow,
    inputs=INPUTS,
    initial=initial_voter_row,
    is_running=is_running,
    running="Running",
    role=lambda row: str(row.role),
)
UNFORMATTED_KIND: Final = CONTROLLER_KIND._replace(
    name="unformatted-controller",
    initial=lambda constants: initial_voter_row(constants, constants.unformatted[0]),
)
"""V12. One that was formatted without the bootstrap snapshot."""


def _kind_of(constants: Constants, node: int) -> NodeKind:
    return UNFORMATTED_KIND if node in constants.unformatted else CONTROLLER_KIND


def _local(constants: Constants, node: int, row: VoterRow) -> Iterator[Input]:
    """All that may come to a node by itself.

    No crash takes a set that was in force: Kafka flushes what it appends before it hears of
    anything (KafkaRaftClient.maybeAppendBatches), so nothing is counted by a set that may go.
    """
    if row.role == "Down":
        yield from (Restart(), ReplaceDisk())
        if constants.listeners_change:
            yield ChangeListeners()
    if not is_running(row):
        return
    least = max(row.flushed, row.history[-1].offset + 1)
    yield from (Crash(keep) for keep in range(least, len(row.log) + 1))
    yield from (ElectionTimeout(), FetchTimeout(), Flush())
    peers = [peer for peer in constants.nodes if peer != node]
    for peer, connection in zip(constants.nodes, row.connections, strict=True):
        if connection != READY:
            yield RequestTimeout(peer)
    if row.role in ("Unattached", "Follower"):
        yield from map(FetchFromBootstrap, peers)
    yield from map(FetchMaxWait, row.parked)
    if row.role == "Leader":
        yield from (BeginQuorumEpochTimeout(), CheckQuorumTimeout(), Resign())
        yield from map(AddVoter, constants.nodes)
        yield from map(RemoveVoter, constants.nodes)
        if len(row.log) < LONGEST:
            yield Append(len(row.log) + 1)
    yield VoterChangeTimeout()
    if constants.auto_join:
        yield AutoJoinTimeout()
    if constants.kraft_version == 0:
        yield UpgradeKraftVersion()
    if constants.kraft_version == 0 or constants.listeners_change:
        yield UpdateVoterTimeout()


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    handlers: VoterHandlers = of(VoterHandlers)(constants, of(VoterRules)(constants), of)
    return handlers.step


VOTERS: Final = Protocol(
    name="voters",
    sentence="controllers join and leave a quorum's voters, one at a time",
    constants=Constants,
    kinds=(CONTROLLER_KIND, UNFORMATTED_KIND),
    messages=MESSAGES,
    alike="controllers",
    peers=lambda constants: constants.nodes,
    nodes=lambda constants: constants.nodes,
    kind_of=_kind_of,
    handlers=_handlers,
    rules=(VoterRules,),
    handler_classes=(VoterHandlers, InForceHandlers),
    sometimes=tuple(sometimes.all),
    extends=QUORUM.name,
    world=World(
        constants={
            "nodes": ((1, 2, 3, 4), (1, 2, 3, 4, 5)),
            "first_voters": ((1, 2, 3), (1,), (1, 2), (1, 2, 3, 4)),
            "fetch_max_records": (2, 1),
            "kraft_version": (1,),
            "auto_join": (False,),
            "listeners_change": (False,),
            "unformatted": ((),),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(400, 800),
        history=committed_next,
        disturbances={
            Crash: (0, 50, 200),
            ElectionTimeout: (300, 800),
            ReplaceDisk: (0, 200),
            FetchTimeout: (20, 100),
            FetchFromBootstrap: (50, 200),
            RequestTimeout: (50, 200),
            BeginQuorumEpochTimeout: (100,),
            FetchMaxWait: (100, 400),
            CheckQuorumTimeout: (0, 20, 100),
            Resign: (0, 20, 100),
            AddVoter: (200, 500),
            RemoveVoter: (50, 200),
            VoterChangeTimeout: (50, 300),
        },
    ),
)
PROTOCOL: Final = VOTERS
