"""Give the quorum's scheduler the steps of controllers whose voters change."""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.core.system import NodeMachine
from kraftcheck.reference.quorum import messages as quorum
from kraftcheck.reference.quorum.sim.machine import QuorumMachine, QuorumMemo
from kraftcheck.reference.quorum.snapshots.messages import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from kraftcheck.reference.quorum.timers import (
    Kinds,
    TimerEffect,
    initial_timer_effects,
    timer_effects,
)
from kraftcheck.reference.quorum.types import Constants, Outcome as QuorumOutcome
from kraftcheck.reference.quorum.voters.messages import (
    AddVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from kraftcheck.reference.quorum.voters.types import in_force
from kraftcheck.reference.sim.memo import State

KINDS: Final = Kinds(
    requests=(*quorum.REQUESTS, FetchSnapshotRequest, UpdateVoterRequest, AddVoterRequest),
    fetches=(quorum.FetchRequest, FetchSnapshotRequest),
    answers=(quorum.FetchResponse, FetchSnapshotResponse, UpdateVoterResponse),
    well=("NONE", "SNAPSHOT_NOT_FOUND"),
)
"""Whatever a follower asks its leader for is in place of a fetch (Q22). Where its leader has heard
of it, its time begins anew (KafkaRaftClient.handleUpdateVoterResponse)."""


class ChangingMachine(QuorumMachine):
    """Controllers whose voters change, with snapshots or without."""

    def __init__(self, memo: QuorumMemo, constants: Any) -> None:
        NodeMachine.__init__(self, memo, constants)
        self._instruction = memo.instruction

    def first_effects(self, node: int) -> tuple[TimerEffect, ...]:
        return initial_timer_effects(in_force(self.constants, self.constants.nodes), node)

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return NodeMachine.outcome(self, node, row, input)

    def effects(self, before: State, input: Any, outcome: QuorumOutcome) -> tuple[TimerEffect, ...]:
        known = in_force(self.constants, before.row.history[-1].voters)
        return timer_effects(known, before.node, before.row, input, outcome, KINDS)

    def is_inert(self, before: State, after: State) -> bool:
        return after is before


class ChangingMemo(QuorumMemo):
    """Of runs of the quorum, whatever changes in them."""

    def new_machine(self, constants: Any) -> NodeMachine:
        if type(constants) is Constants:
            return super().new_machine(constants)
        return ChangingMachine(self, constants)
