"""A partition's steps without a memory of them, for runs that do not come to an end.

The machine of campaigns keeps every row that it has seen, as bytes, so that a step taken twice is
looked up. Logs of a served cluster only grow: no row comes twice, and to write one down takes
longer than the step. Here rows are passed on. The handlers are the same and so is all that follows
from a step, which tests/kraftcheck/serve/test_tape.py compares.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from reference.partition.messages import CONTROLLER
from reference.partition.sim.machine import PartitionMachine, PartitionMemo
from reference.partition.types import is_up
from reference.sim.interning import Interner, KnownInput, KnownRow
from reference.sim.memo import State, Step
from reference.sim.recorder import Recorder


class _Passing(Interner):
    def row(self, row: Any) -> KnownRow:
        return KnownRow(row, b"")

    def input(self, value: Any) -> KnownInput:
        return KnownInput(value, b"", type(value).__name__)


class _Machine(PartitionMachine):
    def step(self, state: State, input: KnownInput) -> Step | None:
        node = state.node
        outcome = self.outcome(node, state.row, input.value)
        if outcome is None:
            return None
        intern, row = self.interner.input, outcome.row
        sent = tuple([(message.destination, intern(message)) for message in outcome.sent])
        is_running = node == CONTROLLER or is_up(row)
        after = State(self, node, KnownRow(row, b""), row, is_running, self._wants(state, row), {})
        return self.new_step(state, input, after, sent, outcome)

    def _wants(self, before: State, row: Any) -> tuple[KnownInput, ...]:
        """Deadlines are kept by want: what was wanted before is the one object that it was."""
        if before.node == CONTROLLER:
            return ()
        old, wants = before.wants, []
        same = True
        for at, value in enumerate(self._wanted(before.node, row)):
            for known in old:
                if known.value == value:
                    break
            else:
                known = self.interner.input(value)
            wants.append(known)
            same = same and at < len(old) and old[at] is known
        return old if same and len(old) == len(wants) else tuple(wants)


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
