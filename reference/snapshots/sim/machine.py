"""Give the quorum's scheduler the steps of controllers whose voters change.

It knows them by their row of the quorum, which is a part of theirs.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.core.system import NodeMachine
from kraftcheck.reference.quorum import messages as quorum
from kraftcheck.reference.quorum.sim.machine import QuorumMachine, QuorumMemo
from kraftcheck.reference.quorum.timers import (
    Kinds,
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


KINDS: Final = Kinds(
    requests=(*quorum.REQUESTS, FetchSnapshotRequest, UpdateVoterRequest, AddVoterRequest),
    fetches=(quorum.FetchRequest, FetchSnapshotRequest),
    answers=(quorum.FetchResponse, FetchSnapshotResponse, UpdateVoterResponse),
    well=("NONE", "SNAPSHOT_NOT_FOUND"),
)
"""Whatever a follower asks its leader for is in place of a fetch (Q22). Where its leader has heard
of it, its time begins anew (KafkaRaftClient.handleUpdateVoterResponse)."""


class ChangingMachine(QuorumMachine):
    """Controllers whose voters change, with snapshots or without.

    The `row` of a state is the quorum's; all of it is in `known`.
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
        known = in_force(self.constants, voters)
        return timer_effects(known, before.node, before.row, input, outcome, KINDS)

    def is_inert(self, before: State, after: State) -> bool:
        return after is before


class ChangingMemo(QuorumMemo):
    """Of runs of the quorum, whatever changes in them."""

    def new_machine(self, constants: Any) -> NodeMachine:
        if type(constants) is Constants:
            return super().new_machine(constants)
        return ChangingMachine(self, constants)
