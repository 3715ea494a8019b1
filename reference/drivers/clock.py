"""The driver by a clock: an event loop in virtual time, in two phases.

A message takes as long as its link does, a timer goes off at its deadline, and what lies outside of
the system (clients, an administrator, faults) acts when its time has come. In the first phase there
are faults. Then a core of nodes is healed and must make progress within a bound; a run that does
not ends with the reason in words.

The messages in flight are events of the queue, so the configuration has no mail. Time is an integer
number of microseconds. A protocol's own part is a subclass: which instructions a step has for the
node's timers (`Step.timers`), who uses the system, and what progress is.

Law of this file: nodes are changed only by steps, and each step is recorded, checked and followed
up in one place (`take`). Nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kraftcheck.reference.core.run import Run
from kraftcheck.reference.core.system import Configuration, NodeMemo
from kraftcheck.reference.sim.choices import Chooser, Stream, pick
from kraftcheck.reference.sim.events import TIMER, EventLoop, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Instruction, Sent, State, Step
from kraftcheck.reference.sim.network import Network
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import STOPPED

FIXED, DRAW, KEEP, BACKOFF, CANCEL = range(5)
"""What an instruction asks for: FIXED arms for `least`, DRAW for `least` and a drawn number below
`span` more; KEEP leaves the deadline; BACKOFF arms for longer the more often it came in a row;
CANCEL disarms."""
STAGGER_MS: Final = 150
_NEVER: Final = 1 << 62


class Timers:
    """The clocks and timers of all nodes of one run.

    A node's clock may run fast or slow: what it measures as d milliseconds lasts d * `factor`
    microseconds, and a factor of 1000 is a true clock.

    Each node has at most one deadline per timer (`armed`). A timer that is armed again before it
    expires, as most are, is not queued again: the event in the queue finds a later deadline when it
    comes, and moves itself there.

    Args:
        options: `start`, `coarse_timers` and `clock_skew` are read.
        backoff: the milliseconds of the n-th backoff in a row.
    """

    def __init__(
        self,
        options: Any,
        stream: Stream,
        queue: Queue,
        nodes: int,
        backoff: Callable[[int, Stream], int],
    ) -> None:
        self._stream, self._queue, self._backoff_of = stream, queue, backoff
        self._start = options.start
        self._coarse = options.coarse_timers
        self._factors = [self._factor(options.clock_skew) for _ in range(nodes)]
        self._armed: list[dict[KnownInput, int]] = [{} for _ in self._factors]
        self._queued: list[dict[KnownInput, int]] = [{} for _ in self._factors]
        self._backoffs = [0] * nodes

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
                self._backoffs[node] += 1
                due = now + self._backoff_of(self._backoffs[node], self._stream) * factor
            armed[timer] = due
            if queued.get(timer, _NEVER) > due:
                queued[timer] = due
                self._queue.push(due, TIMER, node, timer)

    def _draw(self, span: int) -> int:
        return span * self._stream.below(4) // 4 if self._coarse else self._stream.below(span)

    def settled(self, node: int) -> None:
        """The node's next backoff is the first in a row."""
        self._backoffs[node] = 0

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


class TimedRun(EventLoop, Run):
    """One run in virtual time.

    Args:
        phases: has `faulty_ms` to draw from, `healed_ms` and `max_events`.
        options: those of network and timers, `watched` and `stretch`.
    """

    def __init__(
        self,
        phases: Any,
        options: Any,
        chooser: Chooser,
        memo: NodeMemo,
        recorder: Recorder,
    ) -> None:
        self._states: dict[int, State] = {}
        super().__init__(options, memo, recorder)
        self._phases, self._chooser = phases, chooser
        self._watched: bool = options.watched
        self._stretch: int = options.stretch
        self._token = recorder.token
        self._record_step = recorder.steps.items.append
        self._record_time = recorder.times.items.append
        self._machine: Any = self.system.machine
        self._intern = self._machine.interner.input
        self.queue, self.verdict = self.make_queue(), ""
        self._undelivered = 0
        self._network = self.make_network(chooser.stream("network"))
        self._clock: Any = self.make_clock(chooser.stream("clock"))

    # --- A protocol's own part

    def make_queue(self) -> Queue:
        return Queue()

    def make_network(self, stream: Stream) -> Network:
        return Network(self.nodes, self._options, stream, self.queue)

    def make_clock(self, stream: Stream) -> Any:
        """What says when nodes act by themselves."""
        return Timers(self._options, stream, self.queue, len(self.nodes), self.backoff)

    def backoff(self, count: int, stream: Stream) -> int:
        """The milliseconds of a node's `count`-th backoff in a row."""
        raise NotImplementedError

    def expired_in_vain(self, node: int, timer: KnownInput) -> None:
        """A timer has expired whose input is disabled."""
        raise AssertionError(f"{timer.value} expired while disabled")

    def travel(self, node: int, sent: Sent) -> None:
        """Messages leave a node."""
        self._network.send(self.now, node, sent)

    def follow_up(self, node: int, step: Step) -> None:
        """A step was taken, and what it sends is on its way."""

    def begin(self) -> None:
        """Everybody starts: nodes here, then whoever uses or disturbs them."""
        for node in self.nodes:
            self._clock.start(node, self._machine.first_timers(node))

    def heal(self) -> tuple[int, ...]:
        """Ends all faults for good. The core that must make progress."""
        raise NotImplementedError

    def demand_progress(self, core: tuple[int, ...]) -> None:
        """From now on the core must make progress, which is what `ended` says."""
        raise NotImplementedError

    def ended(self) -> str:
        """The verdict, where time is over."""
        raise NotImplementedError

    # --- What others see of it

    faulty_ms = 0
    """How long there are faults; 0: that is drawn."""

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.system.nodes

    @property
    def at(self) -> Configuration:
        """Where the run is. It has no mail, and its states are replaced one at a time."""
        return Configuration(tuple(self._states.values()))

    @at.setter
    def at(self, at: Configuration) -> None:
        self._states = {state.node: state for state in at.states}

    def state(self, node: int) -> State:
        return self._states[node]

    def is_running(self, node: int) -> bool:
        return self._states[node].running

    def give(self, node: int, input: Any) -> Step | None:
        """Has a node take a step that no message or timer causes."""
        return self.take(node, self._intern(input))

    # --- The loop

    def execute(self) -> None:
        """Runs to the end: a violation, the progress of the healed core, or a bound."""
        self.begin()
        faulty = self.faulty_ms or pick(self._chooser.stream("faults"), self._phases.faulty_ms)
        self.call(1000 * faulty * self._stretch, self.end_faults, 0)
        self.run_events(self._phases.max_events * self._stretch)
        self.clients.finish()

    def deliver(self, node: int, message: KnownInput) -> None:
        if self._states[node].running:
            self.take(node, message)
        else:
            self._undelivered += 1

    def ring(self, node: int, timer: KnownInput) -> None:
        if self._clock.is_due(self.now, node, timer) and self.take(node, timer) is None:
            self.expired_in_vain(node, timer)

    def take(self, node: int, input: KnownInput) -> Step | None:
        """One step: taken, recorded, checked, followed up. None if the input is disabled."""
        before = self._states[node]
        step = before.steps.get(input)
        if step is None:
            step = before.machine.step(before, input)
            if step is None:
                return None
        self.record(self.now, step)
        self._states[node] = step.after
        if step.inert and (self._judge is None or self._judge.settled):
            self.rows[node] = step.after.row
        else:
            seen, sees = self.look(step)
            if self._watched and (found := self.wrong(step, seen, sees)) is not None:
                self.violated(found[0].name, found[1])
        if step.timers:
            self._clock.carry_out(self.now, node, step.timers)
        if step.travelling:
            self.travel(node, step.travelling)
        self.follow_up(node, step)
        return step

    def record(self, time: int, step: Step) -> None:
        self.handler_calls += 1
        if step.owner is not self._token:
            self._recorder.enter(step)
        self._record_step(step.number)
        self._record_time(time)
        if self.component is not None:
            self._recorder.components.items.append(self.component)

    def stand(self, state: State) -> None:
        """A node is in this state from now on, by no step of its own."""
        self._states[state.node] = state

    def look(self, step: Step) -> tuple[Any, Any]:
        before = self.rows.copy() if self._watched else {}
        self.rows[step.before.node] = step.after.row
        return before, self.rows

    # --- The second phase, and the end

    def end_faults(self, _: int) -> None:
        """The second phase begins."""
        self.demand_progress(self.heal())
        self.call(1000 * self._phases.healed_ms, lambda _: self.end(self.ended()), 0)

    def violated(self, name: str, explanation: str) -> None:
        self.violations.append(Violation(name, self.steps_taken() - 1, explanation))
        self.end(STOPPED)

    def end(self, verdict: str) -> None:
        super().end(verdict)
        if self.part_of is not None:
            self.part_of.end(verdict)

    def statistics(self) -> dict[str, int]:
        """What happened, counted; the recorder adds what can be read off the steps."""
        network = self._network
        return {
            "lost": network.lost,
            "blocked": network.blocked,
            "undelivered": self._undelivered,
            "duplicated": network.duplicated,
            "held": network.held,
            "duration": self.now,
        }
