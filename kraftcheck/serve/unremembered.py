"""A partition's steps without a memory of them, for runs that do not come to an end.

The machine of campaigns keeps every row that it has seen, as bytes, so that a step taken twice is
looked up. Logs of a served cluster only grow: no row comes twice, and to write one down takes
longer than the step. Here rows are passed on. The handlers are the same and so is all that follows
from a step, which tests/kraftcheck/serve/test_tape.py compares.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reference.partition.sim.machine import PartitionMachine, PartitionMemo
from reference.sim.interning import Interner, KnownInput, KnownRow
from reference.sim.memo import State, Step
from reference.sim.recorder import Recorder


class _Passing(Interner):
    def row(self, row: Any) -> KnownRow:
        return KnownRow(row, b"")

    def input(self, value: Any) -> KnownInput:
        return KnownInput(value, b"", type(value).__name__)


class _Machine(PartitionMachine):
    def __init__(self, memo: PartitionMemo, constants: Any) -> None:
        super().__init__(memo, constants)
        self._wants: dict[Any, KnownInput] = {}
        """Deadlines are kept by want, so equal ones have to be one object here too."""

    def new_state(self, node: int, known: KnownRow) -> State:
        state = super().new_state(node, known)
        one = self._wants.setdefault
        state.wants = tuple([one(want.value, want) for want in state.wants])
        return state

    def step(self, state: State, input: KnownInput) -> Step | None:
        outcome = self.outcome(state.node, state.row, input.value)
        if outcome is None:
            return None
        intern = self.interner.input
        sent = tuple([(message.destination, intern(message)) for message in outcome.sent])
        after = self.new_state(state.node, KnownRow(outcome.row, b""))
        if after.wants == state.wants:
            after.wants = state.wants
        return self.new_step(state, input, after, sent, outcome)


class UnrememberedSteps(PartitionMemo):
    def __init__(self, bug: str | None) -> None:
        super().__init__(bug, enabled=False)
        self.interner = _Passing()

    def new_machine(self, constants: Any) -> PartitionMachine:
        return _Machine(self, constants)


class Unrecorded(Recorder):
    """Of a run that is taped (tape.py) and needs no other record."""

    def __init__(self) -> None:
        super().__init__(0)
        nowhere: Any = SimpleNamespace(items=SimpleNamespace(append=lambda _: None))
        self.steps = self.times = nowhere

    # What is returned are ids of what is recorded; nobody asks for them here.
    def enter(self, step: Step) -> None:  # type: ignore[override]
        """Nothing has an id."""
