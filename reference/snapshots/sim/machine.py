"""Steps of controllers whose voters change, as the quorum's scheduler knows them: by their row of
the quorum, which is a part of theirs.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.core.system import NodeMachine
from kraftcheck.reference.quorum import messages as quorum
from kraftcheck.reference.quorum.sim.machine import QuorumMachine, QuorumMemo
from kraftcheck.reference.quorum.timers import (
    TimerEffect,
    initial_timer_effects,
    timer_effects,
)
from kraftcheck.reference.quorum.types import Constants, Outcome as QuorumOutcome, Row, is_running
from kraftcheck.reference.sim.interning import KnownRow
from kraftcheck.reference.sim.memo import State
from kraftcheck.reference.snapshots.messages import FetchSnapshotRequest, FetchSnapshotResponse
from kraftcheck.reference.snapshots.types import SnapshotRow
from kraftcheck.reference.voters.messages import (
    AddVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from kraftcheck.reference.voters.types import VoterRow, in_force


def voter_of(row: Any) -> VoterRow:
    """What the node knows of voters."""
    return row.voter if isinstance(row, SnapshotRow) else row


def as_fetch(message: Any) -> Any:
    """What the timers of a voter take it for. A fetch of a snapshot is one of records to them."""
    if isinstance(message, FetchSnapshotRequest):
        return quorum.FetchRequest(message.source, message.destination, message.epoch, 0, 0)
    if not isinstance(message, FetchSnapshotResponse):
        return message
    error: Any = message.error
    return _response(message, "NONE" if error == "SNAPSHOT_NOT_FOUND" else error)


def as_asked(message: Any) -> Any:
    """Likewise, of what a node sends: whatever a follower asks its leader for is in place of a
    fetch (Q22).
    """
    if isinstance(message, UpdateVoterRequest | AddVoterRequest):
        return quorum.FetchRequest(message.source, message.destination, 0, 0, 0)
    return as_fetch(message)


def as_heard(input: Any) -> Any:
    """Likewise, of what a node hears: where its leader has heard of it, a follower's time begins
    anew (KafkaRaftClient.handleUpdateVoterResponse).
    """
    if isinstance(input, UpdateVoterResponse):
        return _response(input, input.error)
    return as_fetch(input)


def _response(message: Any, error: Any) -> quorum.FetchResponse:
    return quorum.FetchResponse(
        source=message.source,
        destination=message.destination,
        error=error,
        epoch=message.epoch,
        leader=message.leader,
        high_watermark=0,
        diverging=quorum.NO_DIVERGENCE,
        records=(),
        request=as_asked(message.request),
    )


def effects_of(
    constants: Any, voters: tuple[int, ...], node: int, row: Row, input: Any, outcome: QuorumOutcome
) -> tuple[TimerEffect, ...]:
    """What a step does to the timers of a node. voters: by the set that it knew before; row,
    outcome: its part that is the quorum's, and what was sent.
    """
    told = tuple([as_asked(message) for message in outcome.sent])
    of_quorum = QuorumOutcome(outcome.row, told, outcome.ignored)
    return timer_effects(in_force(constants, voters), node, row, as_heard(input), of_quorum)


class ChangingMachine(QuorumMachine):
    """Controllers whose voters change, with snapshots or without. The `row` of a state is the
    quorum's; all of it is in `known`.
    """

    def __init__(self, memo: QuorumMemo, constants: Any) -> None:
        NodeMachine.__init__(self, memo, constants)
        self._instruction = memo.instruction
        self._logs: dict[Any, Any] = {}

    def first_effects(self, node: int) -> tuple[TimerEffect, ...]:
        return initial_timer_effects(in_force(self.constants, self.constants.nodes), node)

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return NodeMachine.outcome(self, node, row, input)

    def new_state(self, node: int, known: KnownRow) -> State:
        row: Row = voter_of(known.row).quorum
        log = self._logs.setdefault(row.log, row.log)
        # Those of equal rows are the same one, as for rows that are none of another.
        shared = row if log is row.log else replace(row, log=log)
        return State(self, node, known, shared, is_running(shared), (), {})

    def effects(self, before: State, input: Any, outcome: QuorumOutcome) -> tuple[TimerEffect, ...]:
        voters = voter_of(before.known.row).history[-1].voters
        return effects_of(self.constants, voters, before.node, before.row, input, outcome)

    def is_inert(self, before: State, after: State) -> bool:
        return after is before


class ChangingMemo(QuorumMemo):
    """Of runs of the quorum, whatever changes in them."""

    def new_machine(self, constants: Any) -> NodeMachine:
        if type(constants) is Constants:
            return super().new_machine(constants)
        return ChangingMachine(self, constants)
