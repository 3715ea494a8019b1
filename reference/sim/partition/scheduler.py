"""One run of a partition: an event loop over a queue, in two phases, as in the quorum's scheduler.

The metadata log is committed as it is written: what the controller writes, each broker reads at its
own pace, several batches at once or one after the other. Clients, network and brokers' own
activities decide what comes next; nodes are changed only in `take`.

What a run promises depends on what happened in it (promises.py). When nothing is promised any more,
the invariants that speak of committed records are no longer judged, and the run is counted apart.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any, Final

from reference.core.partition_invariants import PARTITION_INVARIANT_NAMES, PartitionChecker
from reference.core.partition_messages import (
    CLIENTS,
    CONTROLLER,
    ControllerFailover,
    ElectLeaders,
    HeartbeatRequest,
    Input,
    MetadataRecord,
    MetadataRecords,
    MetadataUpdate,
    RegisterBrokerRequest,
    SessionTimeout,
)
from reference.core.partition_properties import PartitionInvariant, PartitionState
from reference.core.partition_types import INITIAL_OFFSET, BrokerRow, ControllerRow
from reference.core.promises import NOTHING, promised
from reference.sim.choices import Chooser, chance, pick
from reference.sim.events import CALL, DELIVER, TIMER, Queue
from reference.sim.interning import KnownInput
from reference.sim.partition.clients import Clients
from reference.sim.partition.machine import (
    LEADERSHIP,
    LOG,
    STATUS,
    TRUNCATED,
    WATERMARK,
    WRITTEN,
    PartitionMemo,
    State,
    Step,
)
from reference.sim.partition.network import PartitionNetwork
from reference.sim.partition.options import PartitionOptions, configuration_of, constants_of
from reference.sim.partition.pace import Pace
from reference.sim.partition.progress import Progress
from reference.sim.partition.scenario import PartitionScenario
from reference.sim.partition.trouble import Trouble
from reference.sim.recorder import Recorder, Violation
from traces.schema import STOPPED

UNPROMISED: Final = frozenset(
    {
        *("StrongIsr", "WeakIsr", "ValidHighWatermark", "LeaderCandidateCompleteness"),
        *("PartitionLeaderCompleteness", "PartitionLogMatching", "NoCommittedRecordLost"),
        *("MonotonicTrueHighWatermark", "AckedHasMinIsrCopies", "ReadOnlyCommitted"),
        *("MonotonicListOffsets", "PartitionRefinesCommittedLog", "NoDuplicate"),
    }
)
"""Invariants that nobody promises when more was lost than the configuration bears. What remains is
the controller's own business, and the form of rows."""


class PartitionSimulation:
    """One run. Build it, `execute` it, then read `verdict`, `violations`, `statistics()`."""

    def __init__(
        self,
        scenario: PartitionScenario,
        options: PartitionOptions,
        chooser: Chooser,
        memo: PartitionMemo,
        recorder: Recorder,
    ) -> None:
        self._scenario = scenario
        self._options = options
        self._chooser = chooser
        self._recorder = recorder
        self._token = recorder.token
        self._record_step = recorder.steps.items.append
        self._record_time = recorder.times.items.append
        self.constants = constants_of(options)
        self.brokers = self.constants.brokers
        self._machine = memo.machine(self.constants)
        self._intern = memo.interner.input
        self._queue = Queue()
        self.now = 0
        self.over = False
        self.verdict = ""
        self.violations: list[Violation] = []
        self.handler_calls = 0
        nodes = (*self.brokers, CONTROLLER)
        self._states: dict[int, State] = {n: self._machine.first_state(n) for n in nodes}
        rows = {node: self._states[node].row for node in self.brokers}
        self._world = PartitionState(rows, self._states[CONTROLLER].row, ())
        self._checker = PartitionChecker(self._machine.brokers)
        self._promised = True
        self._envelope = NOTHING
        self._network = PartitionNetwork(
            self.brokers, options, chooser.stream("network"), self._queue
        )
        clock = chooser.stream("clock")
        self._clock = clock
        self._pace = Pace(self.brokers, scenario.paces, options, clock, self._queue, self)
        self._trouble = Trouble(options, chooser.stream("faults"), self, self._network)
        self.clients = Clients(scenario.load, options, chooser.stream("workload"), self)
        self._progress: Progress | None = None
        self._reading = dict.fromkeys(self.brokers, False)
        self._stale_until = dict.fromkeys(self.brokers, 0)
        self._session = dict.fromkeys(self.brokers, 0)
        self._healed = False
        self._truncations = self._leader_changes = self._shrinks = self._expansions = 0
        self._undelivered = 0

    # --- The world, as clients, trouble, pace and progress see it ---

    def row(self, node: int) -> BrokerRow:
        return self._world.rows[node]

    @property
    def controller(self) -> ControllerRow:
        return self._world.controller

    @property
    def metadata(self) -> tuple[MetadataRecord, ...]:
        return self._world.metadata

    def is_running(self, node: int) -> bool:
        return self._states[node].running

    def give(self, node: int, input: Input) -> Step | None:
        """Has a node take a step that no message or activity of its own causes."""
        return self.take(node, self._intern(input))

    def send(self, request: Input, node: int) -> None:
        self._network.send(self.now, CLIENTS, ((node, self._intern(request)),))

    def call(self, delay: int, what: Callable[[int], None], argument: int) -> None:
        self._queue.push(self.now + delay, CALL, argument, what)

    def stand_still(self, node: int, what: str, lasts: int) -> None:
        if what == "stale":
            self._stale_until[node] = max(self._stale_until[node], self.now + lasts)
        else:
            self._pace.stand_still(node, what, lasts)

    # --- The loop ---

    def execute(self) -> None:
        """Runs to the end: a violation, the progress of the healed partition, or a bound."""
        self.give(CONTROLLER, ElectLeaders("PREFERRED"))
        for node in self.brokers:
            self._pace.look(node, self._states[node])
            self._hear(node)
        self.clients.start()
        self._trouble.start()
        faulty = pick(self._chooser.stream("faults"), self._scenario.faulty_ms)
        self.call(1000 * faulty, self._heal, 0)
        self._loop()
        self.clients.finish()

    def _loop(self) -> None:
        heap = self._queue.heap
        events = 0
        while not self.over:
            events += 1
            if events > self._scenario.max_events:
                self._end(f"{events - 1} events without an end")
                break
            self.now, _, kind, node, what = heappop(heap)
            if kind == DELIVER:
                if node == CLIENTS:
                    self.clients.receive(what.value)
                elif self._states[node].running:
                    self.take(node, what)
                else:
                    self._undelivered += 1
            elif kind == TIMER:
                if self._pace.is_due(node, what):
                    self.take(node, what)
                    # Wanted still, if the step did not change that.
                    self._pace.look(node, self._states[node])
            else:
                what(node)

    def take(self, node: int, input: KnownInput) -> Step | None:
        """One step: taken, recorded, checked, followed up. None if the input is disabled."""
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
        self._record_time(self.now)
        self._states[node] = step.after
        self._enter(node, step)
        if step.travelling:
            self._network.send(self.now, node, step.travelling)
        if node == CONTROLLER:
            self._follow_controller(step)
        else:
            if step.after.wants is not before.wants:
                self._pace.look(node, step.after)
            if step.notable:
                self._follow_up(node, step)
        if self._progress is not None and step.notable and self._progress.is_complete():
            self._end(self._progress.verdict())
        return step

    def _enter(self, node: int, step: Step) -> None:
        """The step in the world, and what the invariants say to it."""
        world = self._world
        checker = self._checker
        violated: PartitionInvariant | None = None
        if node == CONTROLLER:
            metadata = world.metadata
            if step.notable & WRITTEN:
                for _, message in step.sent:
                    if isinstance(message.value, MetadataRecords):
                        metadata = metadata + message.value.records
            after = PartitionState(world.rows, step.after.row, metadata)
            self._world = after
            self._note_controller(world.controller, after.controller)
            if self._options.watched:
                violated = checker.after_controller_step(world, after)
        elif (step.inert and checker.is_settled) or not self._options.watched:
            # Nobody has looked at the rows as they were, so they may change in place.
            rows: Any = world.rows
            rows[node] = step.after.row
            return
        else:
            after = PartitionState(
                {**world.rows, node: step.after.row}, world.controller, world.metadata
            )
            self._world = after
            sent = tuple([message.value for _, message in step.sent])
            violated = checker.after_step(node, world, after, sent)
        if violated is not None:
            explanation = violated.check(world, after, checker.history, self._machine.brokers)
            assert explanation is not None, "what was violated a moment ago still is"
            self.violations.append(Violation(violated.name, self.handler_calls - 1, explanation))
            self._end(STOPPED)

    def _note_controller(self, old: ControllerRow, new: ControllerRow) -> None:
        """What of a controller's step is counted, and what it means for the promise: before the
        invariants are asked.
        """
        was, now = old.partition, new.partition
        if now is not was:
            self._shrinks += len(now.isr) < len(was.isr)
            self._expansions += len(now.isr) > len(was.isr)
            self._leader_changes += now.leader >= 0 and now.leader_epoch > was.leader_epoch
        self._trouble.controller_stepped(old, new)
        self.judge_promise()

    def judge_promise(self) -> None:
        if (
            self._promised
            and promised(configuration_of(self._options), self._trouble.envelope()).nothing
        ):
            self._promised = False
            names = [name for name in PARTITION_INVARIANT_NAMES if name not in UNPROMISED]
            self._checker.judge_only(names)

    # --- What follows from a step ---

    def _follow_controller(self, step: Step) -> None:
        input = step.input.value
        if isinstance(input, HeartbeatRequest | RegisterBrokerRequest):
            replies = [m.value for _, m in step.travelling]
            if any(m.error == "NONE" for m in replies):
                self._hear(input.source)
        elif isinstance(input, ControllerFailover):
            # The new controller gives everybody the time of a session.
            for node in self.brokers:
                self._hear(node)
        if step.notable & WRITTEN:
            for node in self.brokers:
                self._read_soon(node)

    def _hear(self, node: int) -> None:
        """The controller has heard from a broker: its session begins anew."""
        due = self.now + 1000 * self._scenario.paces.session
        fresh = self._session[node] == 0
        self._session[node] = due
        if fresh:
            self._queue.push(due, CALL, node, self._session_over)

    def _session_over(self, node: int) -> None:
        due = self._session[node]
        if due > self.now:
            self._queue.push(due, CALL, node, self._session_over)
            return
        self._session[node] = 0
        self.give(CONTROLLER, SessionTimeout(node))

    def _follow_up(self, node: int, step: Step) -> None:
        notable = step.notable
        self._truncations += bool(notable & TRUNCATED)
        if notable & STATUS and not step.before.running:
            self._read_soon(node)
        row: BrokerRow = step.after.row
        if row.role == "Leader":
            if notable & LEADERSHIP and any(
                other.role == "Leader" and at != node for at, other in self._world.rows.items()
            ):
                self._trouble.two_leaders()
            if notable & (LOG | WATERMARK | LEADERSHIP):
                self._pace.news(node)

    def _read_soon(self, node: int) -> None:
        if not self._reading[node] and self._states[node].running:
            self._reading[node] = True
            least = 1000 * (1 + self._clock.below(self._options.metadata_ms))
            self._queue.push(max(self.now + least, self._stale_until[node]), CALL, node, self._read)

    def _read(self, node: int) -> None:
        """A broker reads committed metadata: all there is, or one batch."""
        self._reading[node] = False
        if not self._states[node].running:
            return
        if self._stale_until[node] > self.now:
            self._read_soon(node)
            return
        metadata, offset = self._world.metadata, self.row(node).image.offset
        start = offset - INITIAL_OFFSET
        if start >= len(metadata):
            return
        end = len(metadata) if chance(self._clock, self._options.folding) else start + 1
        self.give(node, MetadataUpdate(offset, metadata[start:end]))
        if self.row(node).image.offset - INITIAL_OFFSET < len(metadata):
            self._read_soon(node)

    # --- The second phase, and the end ---

    def _heal(self, _: int) -> None:
        self._healed = True
        self._trouble.heal()
        self.clients.stop_producing()
        self._stale_until = dict.fromkeys(self.brokers, 0)
        self._pace.heal()
        for node in self.brokers:
            self._reading[node] = False
            self._read_soon(node)
        self._progress = Progress(self.clients, self)
        self.call(1000 * self._scenario.healed_ms, self._give_up, 0)

    def _give_up(self, _: int) -> None:
        if self._progress is not None:
            self._end(self._progress.verdict())

    def _end(self, verdict: str) -> None:
        if not self.over:
            self.over = True
            self.verdict = verdict

    def statistics(self) -> dict[str, int]:
        """What happened, counted; the recorder adds what can be read off the steps."""
        trouble, network = self._trouble, self._network
        envelope = trouble.envelope()
        return {
            "leader_changes": max(0, self._leader_changes - 1),
            "truncations": self._truncations,
            "crashes": trouble.crashes,
            "lossy_crashes": trouble.lossy_crashes,
            "partitions": trouble.partitions,
            "lost": network.lost,
            "blocked": network.blocked,
            "undelivered": self._undelivered,
            "duplicated": network.duplicated,
            "held": network.held,
            "duration": self.now,
            "shrinks": self._shrinks,
            "expansions": self._expansions,
            "shutdowns": trouble.shutdowns,
            "acked": sum(o.op == "append" and o.outcome == "ok" for o in self.clients.history),
            "leader_moves": envelope.leader_moves,
            "unclean_moves": envelope.unclean_moves,
            "lossy_replicas": envelope.lossy,
            "zombies": int(envelope.zombie),
            "unpromised": int(not self._promised),
        }
