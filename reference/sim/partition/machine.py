"""Steps of brokers and of the controller that were taken before are looked up (memo.py says why).

Law of this file: a step is a pure function of (constants, rules, node, row, input). What a state
wants to do next, and what about a step somebody may have to look at, is worked out once, when it is
first seen.
"""

from __future__ import annotations

from typing import Any

import msgspec

from reference.bugs.partition_catalog import broker_handlers_for, partition_rules_for
from reference.core.controller import PartitionControllerHandlers
from reference.core.partition_invariants import is_harmless
from reference.core.partition_log import GONE, RecordLog
from reference.core.partition_messages import (
    CLIENTS,
    CONTROLLER,
    METADATA_LOG,
    NO_REQUEST,
    BrokerFlush,
    CheckpointHighWatermark,
    ControllerRequestTimeout,
    Input,
    IsrShrinkTimeout,
    MetadataRecords,
    ProduceResponse,
    ProduceTimeout,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
)
from reference.core.partition_types import (
    NOBODY,
    UNDEFINED,
    BrokerRow,
    PartitionConstants,
    initial_controller,
    initial_row,
    is_up,
)
from reference.sim.interning import Interner, KnownInput, KnownRow

# What the scheduler must look at after a step, as bits of `Step.notable`.
LOG, TRUNCATED, WATERMARK, LEADERSHIP, STATUS, WRITTEN, ANSWERS, APPENDED, PROPOSED = (
    1 << bit for bit in range(9)
)


class Step(msgspec.Struct, eq=False, gc=False):
    """A step as it was and will be, whoever takes it again.

    inert: no invariant need be looked at, if none was violated before.
    """

    before: State
    input: KnownInput
    after: State
    sent: tuple[tuple[int, KnownInput], ...]
    ignored: str
    inert: bool
    notable: int
    travelling: tuple[tuple[int, KnownInput], ...]
    """Of what was sent, the messages that go over the network."""
    number: int = -1
    """The id in the part that is being recorded, which `owner` marks."""
    owner: object = None


class State(msgspec.Struct, eq=False, gc=False):
    """A row of a broker or of the controller, the steps that were seen to start from it, and the
    inputs that its own activities are about to give it.
    """

    machine: Machine
    node: int
    known: KnownRow
    row: Any
    running: bool
    wants: tuple[KnownInput, ...]
    steps: dict[KnownInput, Step]


class Machine:
    """A partition under one set of constants and rules: all its known states, by node."""

    def __init__(self, memo: PartitionMemo, constants: PartitionConstants) -> None:
        self.constants = constants
        self._interner = memo.interner
        self._memo = memo
        self._remember = memo.enabled
        self.brokers = broker_handlers_for(memo.bug, constants)
        self.controller = PartitionControllerHandlers(
            constants, partition_rules_for(memo.bug, constants)
        )
        nodes = (*constants.brokers, CONTROLLER)
        self._states: dict[int, dict[KnownRow, State]] = {node: {} for node in nodes}
        self._steps: dict[object, Step] = {}

    def first_state(self, node: int) -> State:
        constants = self.constants
        row = initial_controller(constants) if node == CONTROLLER else initial_row(constants)
        return self.state(node, self._interner.row(row))

    def step(self, state: State, input: KnownInput) -> Step | None:
        """The step that `input` makes of `state`; None if it is disabled there.

        Remembered steps are in `state.steps`, where whoever takes many looks first.
        """
        node, row = state.node, state.row
        assert state.known.is_unchanged(), f"a handler changed the row of node {node}"
        outcome: Any
        if node == CONTROLLER:
            outcome = self.controller.step(row, input.value)
        else:
            outcome = self.brokers.step(node, row, input.value)
        if outcome is None:
            return None
        step = self._step(state, input, outcome)
        if self._remember:
            state.steps[input] = step
        return step

    def _step(self, before: State, input: KnownInput, outcome: Any) -> Step:
        """The one object for this step by content, whether or not it was seen before."""
        intern = self._interner.input
        sent = tuple([(m.destination, intern(m)) for m in outcome.sent])
        after = self.state(before.node, self._interner.row(outcome.row))
        if not self._remember:
            key = (before, input, after, sent, outcome.ignored)
            known = self._steps.get(key)
            if known is not None:
                return known
        acks = any(isinstance(m, ProduceResponse) for m in outcome.sent)
        broker = before.node != CONTROLLER
        step = Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            inert=broker and not acks and is_harmless(before.row, outcome.row),
            notable=notable(before.row, outcome.row, outcome.sent) if broker else _written(outcome),
            travelling=tuple([one for one in sent if one[0] != METADATA_LOG]),
        )
        self._memo.steps += 1
        if not self._remember:
            self._steps[key] = step
        return step

    def state(self, node: int, known: KnownRow) -> State:
        """The one object for a node in this row."""
        states = self._states[node]
        state = states.get(known)
        if state is None:
            row = known.row
            if node == CONTROLLER:
                state = State(self, node, known, row, True, (), {})
            else:
                wants = tuple([self._interner.input(each) for each in self._wanted(node, row)])
                state = State(self, node, known, row, is_up(row), wants, {})
            states[known] = state
        return state

    def _wanted(self, node: int, row: BrokerRow) -> list[Input]:
        """What the broker's own activities will do, if nothing comes in between."""
        if not is_up(row):
            return []
        wants: list[Input] = []
        if row.controller_request != NO_REQUEST:
            wants.append(ControllerRequestTimeout(row.controller_request))
        elif row.broker_epoch == UNDEFINED:
            wants.append(SendRegistration())
        else:
            wants.append(SendHeartbeat())
        if row.alter_request != NO_REQUEST:
            wants.append(ControllerRequestTimeout(row.alter_request))
        if row.role == "Leader":
            wants += self._wanted_of_leader(node, row)
        elif _may_fetch(row):
            wants.append(SendReplicaFetch())
        wants += [ReplicaFetchTimeout(request) for request in row.fetching]
        if row.flushed < len(row.log):
            wants.append(BrokerFlush())
        if row.checkpoint != row.high_watermark:
            wants.append(CheckpointHighWatermark())
        return wants

    def _wanted_of_leader(self, node: int, row: BrokerRow) -> list[Input]:
        rules = self.brokers.rules
        wants: list[Input] = []
        if rules.may_send_alter_partition(row):
            wants.append(SendAlterPartition())
        end = len(row.log)
        for broker, remote in zip(self.constants.brokers, row.remotes, strict=True):
            if broker != node and remote.caught_up and remote.end_offset != end:
                wants.append(ReplicaLagTimeout(broker))
        if row.pending.kind == "None" and any(
            r != node and rules.is_out_of_sync(row, r) for r in row.isr
        ):
            wants.append(IsrShrinkTimeout())
        wants += [ProduceTimeout(request) for request in {p.request: None for p in row.parked}]
        return wants

    def forget(self) -> None:
        """Takes apart what refers to itself in a circle, which nobody else would find."""
        for states in self._states.values():
            for state in states.values():
                state.steps.clear()
            states.clear()
        self._steps.clear()


def _may_fetch(row: BrokerRow) -> bool:
    follows = row.role == "Follower" and row.leader != NOBODY
    return follows and not any(m.destination == row.leader for m in row.fetching)


def _cuts(before: RecordLog, after: RecordLog) -> bool:
    """Whether a record is gone that nobody deleted: that is at the end."""
    return len(after) < len(before) or any(
        new not in (old, GONE) for old, new in zip(before, after, strict=False)
    )


def notable(before: BrokerRow, after: BrokerRow, sent: Any) -> int:
    """What happened in a broker's step that somebody may have to look at."""
    found = 0
    if after.log is not before.log:
        found |= LOG
        if is_up(before) and is_up(after) and _cuts(before.log, after.log):
            found |= TRUNCATED
        if after.role == "Leader" and len(after.log) > len(before.log):
            found |= APPENDED
    if after.pending is not before.pending and after.pending.kind != "None":
        found |= PROPOSED
    if after.high_watermark != before.high_watermark or after.log_start != before.log_start:
        found |= WATERMARK
    if after.role != before.role or after.leader_epoch != before.leader_epoch:
        found |= LEADERSHIP
    if after.status != before.status:
        found |= STATUS
    if any(m.destination == CLIENTS for m in sent):
        found |= ANSWERS
    return found


def _written(outcome: Any) -> int:
    return WRITTEN if any(isinstance(m, MetadataRecords) for m in outcome.sent) else 0


class PartitionMemo:
    """All that is known under one set of rules. Parts may share one; it then only grows.

    With `enabled` off, every step is executed whenever it is taken.
    """

    def __init__(self, bug: str | None, enabled: bool = True) -> None:
        self.bug = bug
        self.enabled = enabled
        self.interner = Interner()
        self.steps = 0
        """How many steps were worked out."""
        self._machines: dict[PartitionConstants, Machine] = {}

    def machine(self, constants: PartitionConstants) -> Machine:
        machine = self._machines.get(constants)
        if machine is None:
            machine = self._machines[constants] = Machine(self, constants)
        return machine

    def forget(self) -> None:
        """Frees the memory of a memo that nobody uses any more."""
        for machine in self._machines.values():
            machine.forget()
