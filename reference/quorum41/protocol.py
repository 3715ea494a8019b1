"""The controller quorum by the rules of Kafka 4.1, as one protocol. Its nodes are voters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kraftcheck.reference.kit.properties import Check
from kraftcheck.reference.kit.protocol import HISTORY, NodeKind, Property, Protocol, Witness, World
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Flush,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.properties import (
    INVARIANTS,
    QuorumHistory,
    history_init,
    history_next,
)
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.sometimes import sometimes
from kraftcheck.reference.quorum.types import READY, is_running
from kraftcheck.reference.quorum41.handlers import Quorum41Handlers
from kraftcheck.reference.quorum41.messages import INPUTS, MESSAGES, FetchMaxWait
from kraftcheck.reference.quorum41.rules import Quorum41Rules
from kraftcheck.reference.quorum41.types import Constants, Row, initial_row

REPLACED: Final = (
    *("InitialRow", "FetchRequest", "BecomeResigned", "Finish", "ReceiveResponse"),
    *("Step_HandleFetchRequest", "Step_HandleFlush"),
    *("Step_HandleRequestTimeout", "Step_HandleBeginQuorumEpochTimeout"),
)
"""Operators of QuorumHandlers in whose place those of Quorum41 stand, under the prefix R41_."""

VOTER_41: Final = NodeKind(
    name="voter-since-41",
    module="Quorum41",
    row=Row,
    inputs=INPUTS,
    initial=initial_row,
    is_running=is_running,
    role=lambda row: str(row.role),
    running="Running",
    replaces=tuple((of, f"[QuorumHandlers] R41_{of.removeprefix('Step_')}") for of in REPLACED),
)

LONGEST: Final = 8
"""Of logs of runs, for clients' records; those of leaders come on top."""


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    """All that may come to a voter by itself."""
    if row.role == "Down":
        yield Restart()
    if not is_running(row):
        return
    yield from (Crash(keep) for keep in range(row.flushed, len(row.log) + 1))
    yield from (ElectionTimeout(), FetchTimeout(), Flush())
    for peer, connection in zip(constants.voters, row.connections, strict=True):
        if connection != READY:
            yield RequestTimeout(peer)
    yield from map(FetchMaxWait, row.parked)
    if row.role == "Leader":
        yield from (BeginQuorumEpochTimeout(), CheckQuorumTimeout(), Resign())
        if len(row.log) < LONGEST:
            yield Append(len(row.log) + 1)


def _of_voters(rows: Mapping[int, Any]) -> dict[int, Any]:
    return {n: row for n, row in rows.items() if n != HISTORY}


def _history(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> QuorumHistory:
    return history_next(before[HISTORY] or history_init(constants), _of_voters(after))


def _checked(check: Check) -> Check:
    """Asked with what a property of runs is asked with."""

    def asked(constants: Any, before: Mapping[int, Any], after: Mapping[int, Any]) -> str | None:
        return check(_of_voters(before), _of_voters(after), after[HISTORY])

    return asked


QUORUM_41: Final = Protocol(
    name="quorum41",
    sentence="a quorum since Kafka 4.1: fetches tell the high watermark, voters look for leaders",
    constants=Constants,
    kinds=(VOTER_41,),
    messages=MESSAGES,
    alike="voters",
    peers=lambda constants: constants.voters,
    nodes=lambda constants: constants.voters,
    kind_of=lambda constants, node: VOTER_41,
    handlers=lambda constants, of: (
        of(Quorum41Handlers)(constants, of(Quorum41Rules)(constants)).step
    ),
    rules=(Quorum41Rules,),
    handler_classes=(Quorum41Handlers,),
    properties=INVARIANTS,
    # Those of fetches are about the messages that the quorum had before.
    sometimes=tuple([each for each in sometimes.all if {*each.inputs} <= {*INPUTS}]),
    log=QUORUM.log,
    extends=QUORUM.name,
    world=World(
        constants={
            "voters": ((1, 2, 3), (1, 2), (1, 2, 3, 4, 5)),
            "fetch_max_records": (2, 1),
        },
        local=_local,
        properties=tuple(
            [Property(each.name, each.sentence, _checked(each.check)) for each in INVARIANTS]
        ),
        moves=(400, 800),
        history=_history,
        disturbances={
            Crash: (0, 50, 200),
            ElectionTimeout: (100, 300),
            FetchTimeout: (20, 100),
            RequestTimeout: (50, 200),
            BeginQuorumEpochTimeout: (100,),
            FetchMaxWait: (100, 400),
            CheckQuorumTimeout: (0, 20, 100),
            Resign: (0, 20, 100),
        },
    ),
    witness=Witness("KafkaRaftClient", fewest=2, most=9, usual=3, under=QUORUM.name),
)
