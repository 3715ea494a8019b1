"""One run: an event loop over a queue, in two phases.

In the first phase there are faults. Then a core of nodes (all, or a majority) is healed and must
make progress within a bound; a run that does not ends with the reason in words.

Law of this file: nodes are changed only by steps, and each step is recorded, checked and followed
up in one place (`take`). Checkers and recorder observe and never steer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop
from typing import Any, Protocol

import msgspec

from kraftcheck.reference.quorum.invariants import Invariant, check_step, history_init
from kraftcheck.reference.quorum.messages import Append, CheckQuorumTimeout, Flush, Input
from kraftcheck.reference.quorum.sim.clock import Clock
from kraftcheck.reference.quorum.sim.disk import Disk
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.machine import (
    ELECTED,
    SETTLED,
    STOPPED_LEADING,
    TRUNCATED,
    UNFLUSHED,
    WATERMARK,
    QuorumMemo,
)
from kraftcheck.reference.quorum.sim.progress import Progress
from kraftcheck.reference.quorum.sim.scenario import Scenario
from kraftcheck.reference.quorum.sim.trouble import Trouble
from kraftcheck.reference.quorum.sim.workload import Clients
from kraftcheck.reference.quorum.types import Constants, Row
from kraftcheck.reference.sim.choices import Chooser, Stream, pick
from kraftcheck.reference.sim.events import CALL, DELIVER, TIMER, Queue
from kraftcheck.reference.sim.family import Circular
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.network import Network
from kraftcheck.reference.sim.operations import Operation
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import STOPPED

ISOLATED_LEADER_RESIGNS = "IsolatedLeaderResigns"
"""Protocol rules 6.2, bounded in time: no property of rows, so it is checked here."""


class QuorumClients(Protocol):
    """Who appends to the log, and hears what becomes of it."""

    history: list[Operation]

    @property
    def open(self) -> Mapping[int, object]:
        """By node; empty where nobody waits for it."""
        ...

    def start(self) -> None: ...
    def append(self, node: int, client: int) -> Operation: ...
    def look(self, node: int, row: Row) -> None:
        """A node knows more to be committed, or leads no longer."""
        ...

    def finish(self) -> None: ...


class Simulation(Circular):
    """One run of a quorum."""

    def __init__(
        self,
        scenario: Scenario,
        options: Options,
        chooser: Chooser,
        memo: QuorumMemo,
        recorder: Recorder,
    ) -> None:
        self._scenario = scenario
        self._watched = options.watched
        self._stretch = options.stretch
        self._chooser = chooser
        self._recorder = recorder
        self._token = recorder.token
        self._record_step = recorder.steps.items.append
        self._record_time = recorder.times.items.append
        self.constants = self.make_constants(options)
        self.nodes: tuple[int, ...] = self.constants.nodes
        self._machine = memo.machine(self.constants)
        self._intern = self._machine.interner.input
        self._flush = self._intern(Flush())
        self.queue = Queue()
        self.now = 0
        self.over = False
        self.verdict = ""
        self.violations: list[Violation] = []
        self.handler_calls = 0
        self._states = [self._machine.first_state(node) for node in self.nodes]
        self.rows: dict[int, Row] = {state.node: state.row for state in self._states}
        self._history = history_init(self.constants)
        self._flushing = [False] * len(self.nodes)
        self._elected = self._truncations = self._undelivered = 0
        self._network = Network(self.nodes, options, chooser.stream("network"), self.queue)
        self._clock = Clock(
            options, scenario.timeouts, chooser.stream("clock"), self.queue, len(self.nodes)
        )
        self._disk = Disk(options, chooser.stream("disk"))
        faults = chooser.stream("faults")
        self._trouble = Trouble(options, faults, self, self._network, self._disk)
        self._progress: Progress | None = None
        self.clients = self.make_clients(chooser.stream("workload"))

    def make_constants(self, options: Options) -> Any:
        """Who takes part."""
        return Constants(tuple(range(options.voters)), options.fetch_max_records)

    def make_clients(self, stream: Stream) -> QuorumClients:
        """Who appends to the log."""
        load = self._scenario.load
        load = msgspec.structs.replace(load, appends=load.appends * self._stretch)
        return Clients(load, stream, self.nodes, self)

    # --- The world, as clients, trouble and progress see it ---

    def leader(self) -> int | None:
        """The leader of the latest epoch that has one."""
        leading = [(row.epoch, node) for node, row in self.rows.items() if row.role == "Leader"]
        return max(leading)[1] if leading else None

    def is_running(self, node: int) -> bool:
        return self._states[node].running

    def least_kept(self, node: int) -> int:
        """A crash may take all that is not flushed."""
        return 0

    def may_miss(self, node: int) -> bool:
        """One of three is none too many."""
        return True

    def append(self, node: int, value: int) -> str:
        step = self.give(node, Append(value))
        assert step is not None, "an append is never disabled"
        return step.ignored

    def append_astray(self, node: int) -> None:
        self.clients.append(node, -1)

    def give(self, node: int, input: Input) -> Step | None:
        """Has a node take a step that no message or timer causes."""
        return self.take(node, self._intern(input))

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None:
        self.queue.push(self.now + delay, CALL, argument, what)

    # --- The loop ---

    def execute(self) -> None:
        """Runs to the end: a violation, the progress of the healed core, or a bound."""
        self.begin()
        faulty = pick(self._chooser.stream("faults"), self._scenario.faulty_ms)
        self.call(1000 * faulty * self._stretch, self._heal, 0)
        events = 0
        while not self.over:
            events += 1
            if events > self._scenario.max_events * self._stretch:
                self._end(f"{events - 1} events without an end")
                break
            self.advance()
        self.clients.finish()

    def begin(self) -> None:
        """Everybody starts: nodes, clients, trouble."""
        for node in self.nodes:
            self._clock.start(node, self._machine.first_timers(node))
        self.clients.start()
        self._trouble.start()

    def advance(self) -> None:
        """The next event of the queue, which is due now."""
        self.now, _, kind, node, what = heappop(self.queue.heap)
        if kind == DELIVER:
            if self._states[node].running:
                self.take(node, what)
            else:
                self._undelivered += 1
        elif kind == TIMER:
            if self._clock.is_due(self.now, node, what) and self.take(node, what) is None:
                self.expired_in_vain(node, what)
        else:
            what(node)

    def expired_in_vain(self, node: int, timer: KnownInput) -> None:
        """Only check-quorum may be off: it is armed for every leader, and a sole voter is quorum
        enough. Any other leader would have gone without a majority for too long.
        """
        assert isinstance(timer.value, CheckQuorumTimeout), f"{timer.value} expired while disabled"
        if self._watched and len(self.constants.voters) > 1:
            row, milliseconds = self.rows[node], self._scenario.timeouts.check_quorum
            self.violated(
                ISOLATED_LEADER_RESIGNS,
                f"leader {node} of epoch {row.epoch} has heard from no majority for "
                f"{milliseconds} ms and goes on",
            )

    def take(self, node: int, input: KnownInput) -> Step | None:
        """One step: taken, recorded, checked, followed up. None if the input is disabled."""
        now = self.now
        before = self._states[node]
        step = before.steps.get(input)
        if step is None:
            step = self._machine.step(before, input)
            if step is None:
                return None
        self.handler_calls += 1
        if step.owner is not self._token:
            self._recorder.enter(step)
        self._record_step(step.number)
        self._record_time(now)
        after = step.after
        self._states[node] = after
        history = self._history
        harmless = step.inert and history.committed_before is history.committed
        if harmless or not self._watched:
            self.rows[node] = after.row
        else:
            rows_before = self.rows.copy()
            self.rows[node] = after.row
            self.check(node, step, rows_before)
        if step.timers:
            self._clock.carry_out(now, node, step.timers)
        if step.sent:
            self._network.send(now, node, step.sent)
        if step.notable:
            self._follow_up(node, step)
        return step

    def check(self, node: int, step: Step, rows_before: dict[int, Row]) -> None:
        """Asks what must hold after this step, which led to the rows that there are now."""
        violated = check_step(self.constants, rows_before, self.rows, node, self._history)
        if violated is not None:
            self._stop(violated, rows_before)

    def _follow_up(self, node: int, step: Step) -> None:
        notable = step.notable
        if notable & UNFLUSHED and not self._flushing[node]:
            self._flushing[node] = True
            self.call(self._disk.flush_time(), self._flushed, node)
        self._elected += bool(notable & ELECTED)
        self._truncations += bool(notable & TRUNCATED)
        if notable & SETTLED:
            self._clock.election_is_over(node)
        if notable & (WATERMARK | STOPPED_LEADING):
            if self.clients.open[node]:
                self.clients.look(node, step.after.row)
            if self._progress is not None and self._progress.is_complete():
                self._end(self._progress.verdict())
        if notable & self._trouble.trigger:
            self._trouble.follow(node)

    def _flushed(self, node: int) -> None:
        self._flushing[node] = False
        row = self.rows[node]
        if self._states[node].running and row.flushed < len(row.log):
            self.take(node, self._flush)

    # --- The second phase, and the end ---

    def heal(self) -> tuple[int, ...]:
        """Ends all trouble. The core that must go on."""
        return self._trouble.heal()

    def _heal(self, _: int) -> None:
        core = self.heal()
        self._progress = Progress(core, self.clients, self)
        self.call(1000 * self._scenario.healed_ms, self._give_up, 0)

    def _give_up(self, _: int) -> None:
        if self._progress is not None:
            self._end(self._progress.verdict())

    def _stop(self, violated: Invariant, rows_before: dict[int, Row]) -> None:
        explanation = violated.check(rows_before, self.rows, self._history)
        assert explanation is not None, "what was violated a moment ago still is"
        self.violated(violated.name, explanation)

    def violated(self, name: str, explanation: str) -> None:
        self.violations.append(Violation(name, self.steps_taken() - 1, explanation))
        self._end(STOPPED)

    def steps_taken(self) -> int:
        """In the run, so far."""
        return self.handler_calls

    def _end(self, verdict: str) -> None:
        if not self.over:
            self.over = True
            self.verdict = verdict

    def queues(self) -> tuple[Queue]:
        return (self.queue,)

    def statistics(self) -> dict[str, int]:
        """What happened, counted; the recorder adds what can be read off the steps."""
        trouble, network = self._trouble, self._network
        return {
            "leader_changes": max(0, self._elected - 1),
            "truncations": self._truncations,
            "crashes": trouble.crashes,
            "lossy_crashes": trouble.lossy_crashes,
            "resignations": trouble.resignations,
            "partitions": trouble.partitions,
            "lost": network.lost,
            "blocked": network.blocked,
            "undelivered": self._undelivered,
            "duplicated": network.duplicated,
            "held": network.held,
            "duration": self.now,
        }
