"""A quorum whose steps are remembered and recorded as the simulator's are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import Input
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.steered.schedule import Schedule
from kraftcheck.reference.quorum.types import Constants, Outcome, Row
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.moves import NodeStep, recorded_steps


class RecordedSchedule(Schedule):
    """As Schedule, with the rules of a memo."""

    def __init__(
        self, constants: Constants, memo: QuorumMemo, recorder: Recorder, watched: bool = True
    ) -> None:
        self._machine: Any = memo.machine(constants)
        self._intern = self._machine.interner.input
        self._states = {node: self._machine.first_state(node) for node in constants.nodes}
        super().__init__(constants, watched=watched)
        self.recorder = recorder
        self.handler_calls = 0

    def handlers_of(self, rules: type[QuorumRules]) -> QuorumHandlers:
        handlers: QuorumHandlers = self._machine.handlers
        return handlers

    def first_row(self, node: int) -> Row:
        row: Row = self._states[node].row
        return row

    def steps(self) -> Iterator[NodeStep]:
        return recorded_steps(self.recorder)

    def outcome_of(self, node: int, before: Row, input: Input) -> Outcome | None:
        known, state = self._intern(input), self._states[node]
        step = state.steps.get(known) or self._machine.step(state, known)
        if step is None:
            return None
        recorder = self.recorder
        if step.owner is not recorder.token:
            recorder.enter(step)
        recorder.steps.items.append(step.number)
        recorder.times.items.append(self.now_us())
        self.handler_calls += 1
        self._states[node] = step.after
        return Outcome(step.after.row, tuple([m.value for _, m in step.sent]), step.ignored)
