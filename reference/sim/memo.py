"""Steps that were taken before are looked up: a state knows what each input makes of it.

Law of this file: a step is a pure function of (constants, rules, node, row, input), so remembering
its outcome changes nothing but the time it takes; the same bytes come out with the memo off, and
from a memo that other parts have filled. Everything that the scheduler wants to know about a step
is worked out once, when the step is first seen.

L7, chaining: before a handler runs, the row that it is about to be given is encoded again and
compared with the bytes that the step before left. A handler that changed what it was given is
found out by the next one.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from reference.bugs.catalog import rules_for
from reference.core.quorum import QuorumHandlers
from reference.core.timers import Timeouts, TimerEffect, initial_timer_effects, timer_effects
from reference.core.types import NOBODY, Constants, Outcome, Row, initial_row, is_running
from reference.sim.clock import Instruction, instruction
from reference.sim.interning import Interner, KnownInput, KnownRow

# What the scheduler must look at after a step, as bits of `Step.notable`.
ELECTED, VOTED, APPENDED, TRUNCATED, WATERMARK, UNFLUSHED, STOPPED_LEADING, SETTLED = (
    1 << bit for bit in range(8)
)

Sent: TypeAlias = tuple[tuple[int, KnownInput], ...]
"""(addressee, message) pairs."""


class Step(msgspec.Struct, eq=False, gc=False):
    """A step as it was and will be, whoever takes it again."""

    before: State
    input: KnownInput
    after: State
    sent: Sent
    ignored: str
    timers: tuple[Instruction, ...]
    inert: bool
    notable: int
    number: int = -1
    """The id in the part that is being recorded, which `owner` marks."""
    owner: object = None


class State(msgspec.Struct, eq=False, gc=False):
    """A row of a node under given constants, and the steps that were seen to start from it."""

    machine: Machine
    node: int
    known: KnownRow
    row: Row
    running: bool
    steps: dict[KnownInput, Step]


def is_inert(before: Row, after: Row) -> bool:
    """Whether all that changes is the node's dealings with its peers: who voted for it, who was
    asked, what each has fetched, which fetches are parked.

    Properties that compare nodes, or a node with the history, do not read these fields; those that
    do read them look at one row alone. So the step, taken again, violates nothing that it did not
    violate the first time.
    """
    return (
        after.log is before.log
        and after.high_watermark == before.high_watermark
        and after.role == before.role
        and after.epoch == before.epoch
        and after.leader == before.leader
        and after.voted == before.voted
        and after.flushed == before.flushed
        and after.epoch_start == before.epoch_start
        and after.announced == before.announced
        and after.quorum_state == before.quorum_state
        and after.epoch_cache == before.epoch_cache
    )


def notable(before: State, after: Row) -> int:
    row, found = before.row, 0
    led = row.role == "Leader"
    leads_on = led and after.role == "Leader" and after.epoch == row.epoch
    if after.role == "Leader" and not leads_on:
        found |= ELECTED
    if led and not leads_on:
        found |= STOPPED_LEADING
    if after.voted not in (NOBODY, before.node) and (
        (after.voted, after.epoch) != (row.voted, row.epoch)
    ):
        found |= VOTED
    if after.log is not row.log:
        grows = len(after.log) > len(row.log) and after.log[: len(row.log)] == row.log
        found |= APPENDED if grows else TRUNCATED if is_running(after) else 0
    if after.high_watermark != row.high_watermark:
        found |= WATERMARK
    if is_running(after) and after.flushed < len(after.log):
        found |= UNFLUSHED
    if after.role != row.role and after.role in ("Leader", "Follower", "Down"):
        found |= SETTLED
    return found


class Machine:
    """A quorum under one set of constants and rules: all its known states, by node."""

    def __init__(self, memo: Memo, constants: Constants) -> None:
        self.constants = constants
        self._memo = memo
        self._interner = memo.interner
        self._remember = memo.enabled
        self.handlers = QuorumHandlers(constants, rules_for(memo.bug, constants))
        self._states: dict[int, dict[KnownRow, State]] = {v: {} for v in constants.voters}
        self._steps: dict[object, Step] = {}

    def first_state(self, node: int) -> State:
        return self._state(node, self._interner.row(initial_row(self.constants)))

    def first_timers(self, node: int) -> tuple[Instruction, ...]:
        effects = initial_timer_effects(self.constants, node)
        return tuple([self._memo.instruction(effect) for effect in effects])

    def step(self, state: State, input: KnownInput) -> Step | None:
        """The step that `input` makes of `state`; None if it is disabled there.

        Remembered steps are in `state.steps`, where whoever takes many looks first.
        """
        assert state.known.is_unchanged(), f"a handler changed the row of node {state.node}"
        outcome = self.handlers.step(state.node, state.row, input.value)
        if outcome is None:
            return None
        step = self._step(state, input, outcome)
        if self._remember:
            state.steps[input] = step
        return step

    def _step(self, before: State, input: KnownInput, outcome: Outcome) -> Step:
        """The one object for this step by content, whether or not it was seen before."""
        intern = self._interner.input
        sent = tuple([(message.destination, intern(message)) for message in outcome.sent])
        after = self._state(before.node, self._interner.row(outcome.row))
        if not self._remember:
            key = (before, input, after, sent, outcome.ignored)
            known = self._steps.get(key)
            if known is not None:
                return known
        canonical = Outcome(after.row, outcome.sent, outcome.ignored)
        effects = timer_effects(self.constants, before.node, before.row, input.value, canonical)
        step = Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            timers=tuple([self._memo.instruction(effect) for effect in effects]),
            inert=is_inert(before.row, after.row),
            notable=notable(before, after.row),
        )
        self._memo.steps += 1
        if not self._remember:
            self._steps[key] = step
        return step

    def forget(self) -> None:
        """Takes apart what refers to itself in a circle, which nobody else would find."""
        for states in self._states.values():
            for state in states.values():
                state.steps.clear()
            states.clear()
        self._steps.clear()

    def _state(self, node: int, known: KnownRow) -> State:
        states = self._states[node]
        state = states.get(known)
        if state is None:
            row = known.row
            state = states[known] = State(self, node, known, row, is_running(row), {})
        return state


class Memo:
    """All that is known under one set of rules. Parts may share one; it then only grows.

    With `enabled` off, every step is executed whenever it is taken.
    """

    def __init__(self, timeouts: Timeouts, bug: str | None, enabled: bool = True) -> None:
        self.timeouts = timeouts
        self.bug = bug
        self.enabled = enabled
        self.interner = Interner()
        self.steps = 0
        """How many steps were worked out."""
        self._machines: dict[Constants, Machine] = {}
        self._instructions: dict[TimerEffect, Instruction] = {}

    def instruction(self, effect: TimerEffect) -> Instruction:
        known = self._instructions.get(effect)
        if known is None:
            known = instruction(effect, self.timeouts, self.interner.input)
            self._instructions[effect] = known
        return known

    def machine(self, constants: Constants) -> Machine:
        machine = self._machines.get(constants)
        if machine is None:
            machine = self._machines[constants] = Machine(self, constants)
        return machine

    def forget(self) -> None:
        """Frees the memory of a memo that nobody uses any more."""
        for machine in self._machines.values():
            machine.forget()
