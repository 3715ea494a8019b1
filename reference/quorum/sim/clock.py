"""Virtual time and the timers of all nodes: the owner of clocks that quorum/timers.py speaks of.

Time is an integer number of microseconds. A node's clock may run fast or slow: what it measures as
d milliseconds lasts d * `factor` microseconds, and a factor of 1000 is a true clock.

Each node has at most one deadline per timer (`armed`). A timer that is armed again before it
expires, as most are, is not queued again: the event in the queue finds a later deadline when it
comes, and moves itself there.
"""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.reference.quorum.messages import ElectionTimeout, FetchTimeout, Input
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.timers import (
    Arm,
    Cancel,
    Timeouts,
    TimerEffect,
    bounds,
    election_backoff,
    election_backoff_slots,
    end_quorum_epoch_backoff,
)
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import TIMER, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Instruction

FIXED, DRAW, KEEP, BACKOFF, CANCEL = range(5)
"""What an instruction asks for: FIXED arms for `least`, DRAW for `least` and a drawn number below
`span` more; KEEP leaves the deadline; BACKOFF is a lost election's; CANCEL disarms."""

STAGGER_MS = 150
_NEVER = 1 << 62


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


class Clock:
    """The clocks and timers of one run."""

    def __init__(
        self, options: Options, timeouts: Timeouts, stream: Stream, queue: Queue, nodes: int
    ) -> None:
        self._timeouts = timeouts
        self._stream = stream
        self._queue = queue
        self._start = options.start
        self._coarse = options.coarse_timers
        self._factors = [self._factor(options.clock_skew) for _ in range(nodes)]
        self._armed: list[dict[KnownInput, int]] = [{} for _ in self._factors]
        self._queued: list[dict[KnownInput, int]] = [{} for _ in self._factors]
        self._lost_elections = [0] * nodes

    def _factor(self, skew: int) -> int:
        """True, fast or slow by the skew."""
        return 1000 + (0, -skew, skew)[self._stream.below(3)] if skew else 1000

    def start(self, node: int, todo: tuple[Instruction, ...]) -> None:
        """Arms the timers of a first state."""
        if self._start != "drawn":
            late = STAGGER_MS * (node if self._start == "orderly" else max(0, node - 1))
            todo = tuple([(FIXED, timer, least + late, 0) for _, timer, least, _ in todo])
        self.carry_out(0, node, todo)

    def carry_out(self, now: int, node: int, todo: tuple[Instruction, ...]) -> None:
        armed, queued = self._armed[node], self._queued[node]
        factor = self._factors[node]
        for what, timer, least, span in todo:
            if what == FIXED:
                due = now + least * factor
            elif what == CANCEL:
                armed.pop(timer, None)
                continue
            elif what == KEEP:
                if timer in armed:
                    continue
                due = now
            elif what == DRAW:
                due = now + (least + self._draw(span)) * factor
            else:
                due = now + self._election_backoff(node) * factor
            armed[timer] = due
            if queued.get(timer, _NEVER) > due:
                queued[timer] = due
                self._queue.push(due, TIMER, node, timer)

    def _draw(self, span: int) -> int:
        return span * self._stream.below(4) // 4 if self._coarse else self._stream.below(span)

    def _election_backoff(self, node: int) -> int:
        self._lost_elections[node] += 1
        slots = election_backoff_slots(self._lost_elections[node])
        return election_backoff(self._timeouts, self._stream.below(min(slots, 1 << 10)))

    def election_is_over(self, node: int) -> None:
        """The node leads, follows or is down: its next lost election is the first in a row."""
        self._lost_elections[node] = 0

    def is_due(self, now: int, node: int, timer: KnownInput) -> bool:
        """Whether the event that has come is the timer's deadline; it is then no longer armed."""
        armed, queued = self._armed[node], self._queued[node]
        if queued.get(timer) != now:
            return False
        del queued[timer]
        due = armed.get(timer)
        if due is None:
            return False
        if due > now:
            queued[timer] = due
            self._queue.push(due, TIMER, node, timer)
            return False
        del armed[timer]
        return True
