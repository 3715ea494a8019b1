"""The controller quorum, as one protocol. Its nodes are voters."""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.kit.protocol import Hidden, NodeKind, Protocol, Witness
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
