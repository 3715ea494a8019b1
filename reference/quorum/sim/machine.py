"""Steps of voters that were taken before are looked up (memo.py says why)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraftcheck.reference.core.system import NodeMachine, NodeMemo
from kraftcheck.reference.drivers.clock import BACKOFF, CANCEL, DRAW, FIXED, KEEP
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.messages import ElectionTimeout, FetchTimeout, Input
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.timers import (
    Arm,
    Cancel,
    Timeouts,
    TimerEffect,
    bounds,
    election_backoff,
    election_backoff_slots,
    end_quorum_epoch_backoff,
    initial_timer_effects,
    timer_effects,
)
from kraftcheck.reference.quorum.types import NOBODY, Outcome, Row, is_running
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Instruction, Sent, State, Step

# What the scheduler must look at after a step, as bits of `Step.notable`.
ELECTED, VOTED, APPENDED, TRUNCATED, WATERMARK, UNFLUSHED, STOPPED_LEADING, SETTLED = (
    1 << bit for bit in range(8)
)


def is_inert(before: Row, after: Row) -> bool:
    """Say whether the step changes only the node's dealings with its peers.

    These are who voted for it, who was asked, what each has fetched, which fetches are parked.

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


def instruction(
    effect: TimerEffect, timeouts: Timeouts, intern: Callable[[Input], KnownInput]
) -> Instruction:
    """What carrying out a timer effect means, under these timeouts."""
    if isinstance(effect, Cancel):
        return CANCEL, intern(effect.timer), 0, 0
    if not isinstance(effect, Arm):
        least = end_quorum_epoch_backoff(timeouts, effect.position, effect.count)
        return FIXED, intern(FetchTimeout()), least, 0
    timer = intern(effect.timer)
    if effect.kind == "keep-remaining":
        return KEEP, timer, 0, 0
    if effect.kind == "backoff" and isinstance(effect.timer, ElectionTimeout):
        return BACKOFF, timer, 0, 0
    least, most = bounds(timeouts, effect)
    return (DRAW, timer, least, most - least + 1) if most > least else (FIXED, timer, least, 0)


def lost_election(timeouts: Timeouts, count: int, stream: Stream) -> int:
    """The milliseconds that a candidate backs off after its `count`-th lost election in a row."""
    slots = min(election_backoff_slots(count), 1 << 10)
    return election_backoff(timeouts, stream.below(slots))


class QuorumMachine(NodeMachine):
    """The voters of a quorum, with their timers."""

    def __init__(self, memo: QuorumMemo, constants: Any) -> None:
        super().__init__(memo, constants)
        self._instruction = memo.instruction
        # The protocol hands over their `step`.
        step: Any = self.handle
        self.handlers: QuorumHandlers = step.__self__

    def first_effects(self, node: int) -> tuple[TimerEffect, ...]:
        """What a node's first state does to its timers."""
        return initial_timer_effects(self.constants, node)

    def first_timers(self, node: int) -> tuple[Instruction, ...]:
        return tuple([self._instruction(effect) for effect in self.first_effects(node)])

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return self.handlers.step(node, row, input)

    def effects(self, before: State, input: Any, outcome: Outcome) -> tuple[TimerEffect, ...]:
        """What a step does to the node's timers."""
        return timer_effects(self.constants, before.node, before.row, input, outcome)

    def is_inert(self, before: State, after: State) -> bool:
        return is_inert(before.row, after.row)

    def new_step(
        self, before: State, input: KnownInput, after: State, sent: Sent, outcome: Any
    ) -> Step:
        canonical = Outcome(after.row, outcome.sent, outcome.ignored)
        effects = self.effects(before, input.value, canonical)
        return Step(
            before=before,
            input=input,
            after=after,
            sent=sent,
            ignored=outcome.ignored,
            inert=self.is_inert(before, after),
            notable=notable(before.node, before.row, after.row),
            travelling=sent,
            timers=tuple([self._instruction(effect) for effect in effects]),
        )


class QuorumMemo(NodeMemo):
    """Under these timeouts. A bug is looked up with the constants."""

    def __init__(self, timeouts: Timeouts, bug: str | None, enabled: bool = True) -> None:
        super().__init__(QUORUM, None, enabled)
        self.bug, self.timeouts = bug, timeouts
        self._instructions: dict[TimerEffect, Instruction] = {}

    def new_machine(self, constants: Any) -> NodeMachine:
        return QuorumMachine(self, constants)

    def instruction(self, effect: TimerEffect) -> Instruction:
        known = self._instructions.get(effect)
        if known is None:
            known = instruction(effect, self.timeouts, self.interner.input)
            self._instructions[effect] = known
        return known
