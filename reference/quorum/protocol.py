"""The controller quorum, as a protocol for each release whose rules it has. Its nodes are voters.

`quorum41` is the quorum of release 4.1, as a preset: constants, kinds of nodes and messages of
their own, so that traces tell them apart, and all else the quorum's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kraftcheck.reference.kit.protocol import Hidden, NodeKind, Protocol, Witness
from kraftcheck.reference.quorum import quorum41
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import INPUTS, MESSAGES
from kraftcheck.reference.quorum.properties import INVARIANTS
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sometimes import sometimes
from kraftcheck.reference.quorum.system import world
from kraftcheck.reference.quorum.types import Constants, Row, initial_row, is_running

_HIDDEN: Final = Hidden(
    module="ChainQuorum",
    impossible={"role": "Nobody's"},
    complete=frozenset(
        {
            *("source", "peer", "leader", "granted", "preVote", "error", "lastEpoch"),
            *("lastFetchedEpoch", "lastOffset", "fetchOffset", "highWatermark", "keep"),
            *("successors", "diverging", "request", "value"),
        }
    ),
    seen={"epoch": "epoch", "records": "log"},
)
VOTER: Final = NodeKind(
    name="voter",
    module="QuorumHandlers",
    row=Row,
    inputs=INPUTS,
    initial=initial_row,
    is_running=is_running,
    role=lambda row: str(row.role),
    running="Running",
    hidden=_HIDDEN,
)

WITNESS: Final = Witness("KafkaRaftClient", fewest=2, most=9, usual=3)

QUORUM: Final = Protocol(
    name="quorum",
    sentence="voters elect leaders, replicate and commit one log",
    constants=Constants,
    kinds=(VOTER,),
    messages=MESSAGES,
    alike="voters",
    peers=lambda constants: constants.voters,
    nodes=lambda constants: constants.voters,
    kind_of=lambda constants, node: VOTER,
    handlers=lambda constants, of: of(QuorumHandlers)(constants, of(QuorumRules)(constants)).step,
    rules=(QuorumRules,),
    handler_classes=(QuorumHandlers,),
    properties=INVARIANTS,
    sometimes=tuple(sometimes.all),
    log="__cluster_metadata-0",
    witness=WITNESS,
    world=world(simulated=True),
)

REPLACED: Final = (
    *("InitialRow", "FetchRequest", "BecomeResigned", "Finish", "ReceiveResponse"),
    *("Step_HandleFetchRequest", "Step_HandleFlush"),
    *("Step_HandleRequestTimeout", "Step_HandleBeginQuorumEpochTimeout"),
)
"""Operators of QuorumHandlers in whose place those of Quorum41 stand, under the prefix R41_."""
VOTER_41: Final = VOTER._replace(
    name="voter-since-41",
    module="Quorum41",
    row=quorum41.Row,
    inputs=quorum41.INPUTS,
    initial=quorum41.initial_row,
    hidden=None,
    replaces=tuple((of, f"[QuorumHandlers] R41_{of.removeprefix('Step_')}") for of in REPLACED),
)
QUORUM_41: Final = replace(
    QUORUM,
    name="quorum41",
    sentence="a quorum since Kafka 4.1: fetches tell the high watermark, voters look for leaders",
    constants=quorum41.Constants,
    kinds=(VOTER_41,),
    messages=quorum41.MESSAGES,
    kind_of=lambda constants, node: VOTER_41,
    handlers=lambda constants, of: (
        of(quorum41.Quorum41Handlers)(constants, of(quorum41.Quorum41Rules)(constants)).step
    ),
    rules=(quorum41.Quorum41Rules,),
    handler_classes=(quorum41.Quorum41Handlers,),
    # Those of fetches are about the messages of release 4.0.
    sometimes=tuple([each for each in sometimes.all if {*each.inputs} <= {*quorum41.INPUTS}]),
    extends=QUORUM.name,
    world=world(quorum41.FetchMaxWait),
    witness=WITNESS._replace(under=QUORUM.name),
)
