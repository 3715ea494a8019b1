"""A partition's steps without a memory of them, for runs that do not come to an end.

The machine of campaigns keeps every row that it has seen, as bytes, so that a step taken twice is
looked up. Logs of a served cluster only grow: no row comes twice, and to write one down takes
longer than the step. Here rows are passed on, and their logs share entries (branches.py). The
handlers are the same and so is all that follows from a step, which
tests/kraftcheck/serve/test_tape.py compares.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

from msgspec.structs import astuple, replace

from kraftcheck.kafka.serve.branches import BranchLog
from kraftcheck.reference.partition.invariants import is_row_suspicious
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
)
from kraftcheck.reference.partition.properties import values_of
from kraftcheck.reference.partition.sim.machine import PartitionMachine, PartitionMemo
from kraftcheck.reference.partition.types import BrokerRow, RecordLog, is_up
from kraftcheck.reference.sim.interning import Interner, KnownInput, KnownRow
from kraftcheck.reference.sim.memo import Sent, State, Step
from kraftcheck.reference.sim.recorder import Recorder

_UNKNOWN: Final = KnownRow(None, b"")
"""Bytes of rows are what nobody asks for here."""


class _Passing(Interner):
    def row(self, row: Any) -> KnownRow:
        return KnownRow(row, b"")

    def input(self, value: Any) -> KnownInput:
        return known(value)


class _Machine(PartitionMachine):
    def __init__(self, memo: UnrememberedSteps, constants: Any) -> None:
        super().__init__(memo, constants)
        self._watched = memo.watched
        self._root = BranchLog.from_records()
        """Where the logs of all replicas begin."""
        self._values: dict[int, tuple[RecordLog, set[int]]] = {}
        """Of a broker a log that it had, and the values in it."""
        self._old: tuple[KnownInput, ...] = ()
        """What the broker that takes a step wanted before it."""

    def first_row(self, node: int) -> Any:
        row = super().first_row(node)
        return row if node == CONTROLLER else replace(row, log=self._root)

    def step(self, state: State, input: KnownInput) -> Step | None:
        node, before = state.node, state.row
        outcome = self.handle(node, before, input.value)
        if outcome is None:
            return None
        row = outcome.row
        sent: Sent = ()
        if outcome.sent:
            sent = tuple([(m.destination, known(m)) for m in outcome.sent])
        if node == CONTROLLER:
            after = State(self, node, _UNKNOWN, row, True, (), state.steps)
            return self.new_step(state, input, after, sent, outcome)
        after = state if row is before else self.followed_by(state, row)
        is_inert = not self._watched or self.is_inert(node, before, row, sent)
        noted = self.noted(state, outcome, is_inert)
        return Step(state, input, after, sent, outcome.ignored, is_inert, noted, sent)

    def is_suspicious(self, node: int, old: BrokerRow, new: BrokerRow) -> bool:
        return is_row_suspicious(self.constants, node, old, new, partial(self._repeated, node))

    def _repeated(self, node: int, old: RecordLog, new: RecordLog) -> bool:
        """Of a log that grows, what has been added is looked for in what is known to be there."""
        kept = len(old)
        if len(new) <= kept and new == old[: len(new)]:
            return False
        known, seen = self._values.get(node, ((), set()))
        if known is not old or new[:kept] != old:
            kept, seen = 0, set()
        values = values_of(new[kept : len(new)])
        repeats = not seen.isdisjoint(values)
        before = len(seen)
        seen.update(values)
        self._values[node] = new, seen
        return repeats or len(seen) < before + len(values)

    def followed_by(self, before: State, row: BrokerRow) -> State:
        """A broker has another row now."""
        old = self._old = before.wants
        found = tuple(self._wanted(before.node, row))
        # Known inputs are equal if they are one.
        wants = old if found == old else found
        return State(self, before.node, _UNKNOWN, row, is_up(row), wants, before.steps)

    def _want(self, of: type[Any], *about: Any) -> KnownInput:
        """The object that it was, if it was wanted before: deadlines are kept by want."""
        for each in self._old:
            if type(each.value) is of and astuple(each.value) == about:
                return each
        return known(of(*about))

    def _wanted_by_clients(self, row: BrokerRow) -> list[KnownInput]:
        """Timeouts of produce requests are the front's to give (data.py)."""
        return []


def known(value: Any) -> KnownInput:
    return KnownInput(value, b"", type(value).__name__)


class UnrememberedSteps(PartitionMemo):
    """Of one partition."""

    def __init__(self, bug: str | None, watched: bool) -> None:
        """watched: whether somebody asks the invariants after each step."""
        super().__init__(bug, enabled=False)
        self.watched = watched
        self.interner = _Passing()

    def new_machine(self, constants: Any) -> PartitionMachine:
        return _Machine(self, constants)


class Unrecorded(Recorder):
    """Of a run that is taped (tape.py) and needs no other record."""

    def __init__(self) -> None:
        super().__init__(0)
        nowhere: Any = SimpleNamespace(items=deque(maxlen=0))
        self.steps = self.times = nowhere
        self.token = None
        """As of every step that nobody has entered: none is to have an id."""
