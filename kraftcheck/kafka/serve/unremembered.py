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

from msgspec.structs import replace

from kraftcheck.kafka.serve.branches import BranchLog
from kraftcheck.reference.partition.invariants import is_row_suspicious
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    BrokerFlush,
    CheckpointHighWatermark,
    ControllerRequestTimeout,
    IsrShrinkTimeout,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
)
from kraftcheck.reference.partition.properties import values_of
from kraftcheck.reference.partition.sim.machine import PartitionMachine, PartitionMemo, may_fetch
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow, RecordLog, is_up
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
        known = self.interner.input
        self._flush, self._checkpoint = known(BrokerFlush()), known(CheckpointHighWatermark())
        self._register, self._beat = known(SendRegistration()), known(SendHeartbeat())
        self._alter, self._shrink = known(SendAlterPartition()), known(IsrShrinkTimeout())
        self._fetch = known(SendReplicaFetch())
        self._lag = [(b, known(ReplicaLagTimeout(b))) for b in constants.brokers]

    def first_row(self, node: int) -> Any:
        row = super().first_row(node)
        return row if node == CONTROLLER else replace(row, log=self._root)

    def step(self, state: State, input: KnownInput) -> Step | None:
        node, before = state.node, state.row
        outcome = self._handle(node, before, input.value)
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
        running = is_up(row)
        wants = self._wants(before, row) if running else ()
        return State(self, before.node, _UNKNOWN, row, running, wants, before.steps)

    def _wants(self, before: State, row: BrokerRow) -> tuple[KnownInput, ...]:
        """Update what `new_state` says of who runs.

        It is made of what was wanted before: deadlines are kept by want, so one that is still
        wanted has to be the same object.
        """
        old, was, end = before.wants, before.row, len(row.log)
        wants: list[KnownInput] = []
        if (
            old
            and row.controller_request is was.controller_request
            and (row.broker_epoch == was.broker_epoch)
        ):
            wants.append(old[0])
        elif row.controller_request != NO_REQUEST:
            wants.append(_again(old, ControllerRequestTimeout, row.controller_request))
        else:
            wants.append(self._register if row.broker_epoch == UNDEFINED else self._beat)
        if row.alter_request != NO_REQUEST:
            wants.append(_again(old, ControllerRequestTimeout, row.alter_request))
        if row.role == "Leader":
            self._add_of_leader(before.node, row, end, wants)
        elif may_fetch(row):
            wants.append(self._fetch)
        for request in row.fetching:
            wants.append(_again(old, ReplicaFetchTimeout, request))
        if row.flushed < end:
            wants.append(self._flush)
        if row.checkpoint != row.high_watermark:
            wants.append(self._checkpoint)
        found = tuple(wants)
        # Known inputs are equal if they are one.
        return old if found == old else found

    def _add_of_leader(self, node: int, row: BrokerRow, end: int, wants: list[KnownInput]) -> None:
        """But for timeouts of produce requests, which are the front's to give (data.py)."""
        rules = self.brokers.rules
        if rules.may_send_alter_partition(row):
            wants.append(self._alter)
        for (broker, lag), remote in zip(self._lag, row.remotes, strict=True):
            if remote.end_offset != end and remote.caught_up and broker != node:
                wants.append(lag)
        if row.pending.kind == "None":
            for broker in row.isr:
                if broker != node and rules.is_out_of_sync(row, broker):
                    wants.append(self._shrink)
                    break


def _again(old: tuple[KnownInput, ...], kind: Any, request: Any) -> KnownInput:
    for each in old:
        if type(each.value) is kind and each.value.request == request:
            return each
    return known(kind(request))


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
