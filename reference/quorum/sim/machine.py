"""Steps of voters that were taken before are looked up (memo.py says why)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.bugs.catalog import substitution
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.sim.clock import instruction
from kraftcheck.reference.quorum.timers import (
    Timeouts,
    TimerEffect,
    initial_timer_effects,
    timer_effects,
)
from kraftcheck.reference.quorum.types import (
    NOBODY,
    Constants,
    Outcome,
    Row,
    initial_row,
    is_running,
)
from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.memo import Instruction, Machine, Memo, Sent, State, Step

# What the scheduler must look at after a step, as bits of `Step.notable`.
ELECTED, VOTED, APPENDED, TRUNCATED, WATERMARK, UNFLUSHED, STOPPED_LEADING, SETTLED = (
    1 << bit for bit in range(8)
)


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


def notable(node: int, row: Row, after: Row) -> int:
    """What happened in a voter's step that somebody may have to look at."""
    found = 0
    led = row.role == "Leader"
    leads_on = led and after.role == "Leader" and after.epoch == row.epoch
    if after.role == "Leader" and not leads_on:
        found |= ELECTED
    if led and not leads_on:
        found |= STOPPED_LEADING
    if after.voted not in (NOBODY, node) and ((after.voted, after.epoch) != (row.voted, row.epoch)):
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


class QuorumMachine(Machine):
    """A quorum. Its timers are the clock's, so no state wants anything by itself."""

    def __init__(self, memo: QuorumMemo, constants: Constants) -> None:
        super().__init__(memo, constants, constants.voters)
        self._instruction = memo.instruction
        of = substitution(memo.bug, constants)
        self.handlers: QuorumHandlers = of(QuorumHandlers)(constants, of(QuorumRules)(constants))

    def first_row(self, node: int) -> Row:
        return initial_row(self.constants)

    def first_timers(self, node: int) -> tuple[Instruction, ...]:
        effects = initial_timer_effects(self.constants, node)
        return tuple([self._instruction(effect) for effect in effects])

    def outcome(self, node: int, row: Any, input: Any) -> Outcome | None:
        return self.handlers.step(node, row, input)

    def new_state(self, node: int, known: KnownRow) -> State:
        return State(self, node, known, known.row, is_running(known.row), (), {})

    def new_step(
        self, before: State, input: KnownInput, after: State, sent: Sent, outcome: Outcome
    ) -> Step:
        node = before.node
        canonical = Outcome(after.row, outcome.sent, outcome.ignored)
        effects = timer_effects(self.constants, node, before.row, input.value, canonical)
        return Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            inert=is_inert(before.row, after.row),
            notable=notable(node, before.row, after.row),
            travelling=sent,
            timers=tuple([self._instruction(effect) for effect in effects]),
        )


class QuorumMemo(Memo[QuorumMachine]):
    def __init__(self, timeouts: Timeouts, bug: str | None, enabled: bool = True) -> None:
        super().__init__(bug, enabled)
        self.timeouts = timeouts
        self._instructions: dict[TimerEffect, Instruction] = {}

    def new_machine(self, constants: Constants) -> QuorumMachine:
        return QuorumMachine(self, constants)

    def instruction(self, effect: TimerEffect) -> Instruction:
        known = self._instructions.get(effect)
        if known is None:
            known = instruction(effect, self.timeouts, self.interner.input)
            self._instructions[effect] = known
        return known
