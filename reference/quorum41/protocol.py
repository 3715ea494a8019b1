"""The controller quorum by the rules of Kafka 4.1, as one protocol. Its nodes are voters."""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.protocol import NodeKind, Protocol, Witness
from kraftcheck.reference.quorum.properties import INVARIANTS
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.sometimes import sometimes
from kraftcheck.reference.quorum.system import world
from kraftcheck.reference.quorum.types import is_running
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
    world=world(FetchMaxWait),
    witness=Witness("KafkaRaftClient", fewest=2, most=9, usual=3, under=QUORUM.name),
)
