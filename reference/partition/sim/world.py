"""The replicas of one partition and its controller, as a run has them: every step is taken here.

Nodes are changed only in `take`, where a step is recorded, checked against the invariants and
followed up. What happens next is decided elsewhere: by the run of a single partition
(scheduler.py), or by a cluster of which this is one partition (reference/cluster/sim).

What a run promises depends on what happened in it (promises.py). When nothing is promised any more,
the invariants that speak of committed records are no longer judged, and the run is counted apart.
"""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.clients.promises import Envelope, promised
from kraftcheck.reference.partition.invariants import PARTITION_INVARIANT_NAMES
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    Input,
    MetadataRecord,
    MetadataRecords,
)
from kraftcheck.reference.partition.properties import PartitionState
from kraftcheck.reference.partition.sim.losses import Losses
from kraftcheck.reference.partition.sim.machine import (
    ANSWERS,
    LEADERSHIP,
    LOG,
    STATUS,
    SUSPICIOUS,
    TRUNCATED,
    WATERMARK,
    WRITTEN,
    PartitionMemo,
)
from kraftcheck.reference.partition.sim.network import PartitionNetwork
from kraftcheck.reference.partition.sim.options import PartitionOptions, configuration_of
from kraftcheck.reference.partition.sim.pace import Pace
from kraftcheck.reference.partition.sim.scenario import Paces
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow, PartitionConstants
from kraftcheck.reference.sim.choices import Stream
from kraftcheck.reference.sim.events import EventLoop, Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.recorder import Recorder, Violation
from kraftcheck.traces.schema import STOPPED

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

EPOCH_BEGINS_AT_ZERO: Final = "EpochBeginsAtZero"
"""Of producers, whose requests alone the rows show (clients.py)."""


class PartitionWorld(EventLoop):
    """One partition in a run. Who runs it says what clients, controller and metadata do."""

    def __init__(
        self,
        paces: Paces,
        options: PartitionOptions,
        constants: PartitionConstants,
        memo: PartitionMemo,
        recorder: Recorder,
        network: Stream,
        clock: Stream,
        linked: tuple[int, ...] = (),
    ) -> None:
        """linked: the brokers of the network, if there are more than hold the partition."""
        self._options = options
        self._recorder = recorder
        self._token = recorder.token
        self._record_step = recorder.steps.items.append
        self._record_time = recorder.times.items.append
        self.constants = constants
        self.brokers = constants.brokers
        self._machine = memo.machine(constants)
        self._intern = memo.interner.input
        self.queue = self.make_queue()
        self.violations: list[Violation] = []
        self.handler_calls = 0
        nodes = (*self.brokers, CONTROLLER)
        self._states: dict[int, State] = {n: self._machine.first_state(n) for n in nodes}
        rows = {node: self._states[node].row for node in self.brokers}
        self._world = PartitionState(rows, self._states[CONTROLLER].row, ())
        self._checker = self._machine.new_checker()
        self._promised = True
        self._envelope: Envelope | None = None
        """For which the promise was looked up last."""
        self.losses = Losses(self.brokers, self.row)
        self.network = PartitionNetwork(linked or self.brokers, options, network, self.queue)
        self.clock = clock
        self.pace = self.make_pace(paces, options, clock)
        self._truncations = self._leader_changes = self._shrinks = self._expansions = 0
        self._undelivered = 0

    def make_pace(self, paces: Paces, options: PartitionOptions, clock: Stream) -> Pace:
        return Pace(self.brokers, paces, options, clock, self.queue, self)

    def make_queue(self) -> Queue:
        return Queue()

    # --- What it is like

    def row(self, node: int) -> BrokerRow:
        return self._world.rows[node]

    @property
    def replicas(self) -> tuple[int, ...]:
        """Who holds the partition, as the controller knows it."""
        return self.brokers

    @property
    def controller(self) -> ControllerRow:
        return self._world.controller

    @property
    def metadata(self) -> tuple[MetadataRecord, ...]:
        return self._world.metadata

    def is_running(self, node: int) -> bool:
        return self._states[node].running

    # --- What others do to it

    def give(self, node: int, input: Input) -> Step | None:
        """Has a node take a step that no message or activity of its own causes."""
        return self.take(node, self._intern(input))

    def send(self, request: Input, node: int) -> None:
        """A client's request to a broker."""
        self.network.send(self.now, CLIENTS, ((node, self._intern(request)),))

    # --- What is decided elsewhere

    def clients_receive(self, message: object) -> None:
        """An answer has reached the clients."""
        raise NotImplementedError

    def follow_controller(self, step: Step) -> None:
        """The controller has taken a step."""
        raise NotImplementedError

    def began(self, node: int) -> None:
        """A broker that was down has started."""
        raise NotImplementedError

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        """Messages leave a node."""
        self.network.send(self.now, node, sent)

    def stepped(self, step: Step) -> None:
        """A step has been taken and followed up, after which somebody may have to look."""
        raise NotImplementedError

    def steps_taken(self) -> int:
        """In the run, so far."""
        return self.handler_calls

    # --- Steps

    def deliver(self, node: int, message: KnownInput) -> None:
        """A message reaches a node, or the clients."""
        if node == CLIENTS:
            self.clients_receive(message.value)
        elif self._states[node].running:
            self.take(node, message)
        else:
            self._undelivered += 1

    def ring(self, node: int, want: KnownInput) -> None:
        """It may be time for what a broker wants to do."""
        if self.pace.is_due(node, want):
            wanted = self._states[node].wants
            self.act(node, want)
            after = self._states[node]
            if after.wants is wanted:
                # Wanted still, and perhaps nobody has looked.
                self.pace.look(node, after)

    def act(self, node: int, want: KnownInput) -> None:
        """A broker does something by itself."""
        self.take(node, want)

    def take(self, node: int, input: KnownInput) -> Step | None:
        """One step: taken, recorded, checked, followed up. None if the input is disabled."""
        before = self._states[node]
        step = before.steps.get(input)
        if step is None:
            step = before.machine.step(before, input)
            if step is None:
                return None
        self.record(step)
        self._states[node] = step.after
        if step.inert and self._checker.is_settled:
            # Nobody has looked at the rows as they were, so they may change in place.
            rows: Any = self._world.rows
            rows[node] = step.after.row
        else:
            self._enter(node, step)
        if step.travelling:
            self.travel(node, step.travelling)
        if node == CONTROLLER:
            self.follow_controller(step)
        else:
            if step.after is not before:
                self.pace.look(node, step.after)
            if step.notable:
                self._follow_up(node, step)
        if step.notable:
            self.stepped(step)
        return step

    def record(self, step: Step) -> None:
        self.handler_calls += 1
        if step.owner is not self._token:
            self._recorder.enter(step)
        self._record_step(step.number)
        self._record_time(self.now)

    def _enter(self, node: int, step: Step) -> None:
        """A step that properties may have to look at in the world, and what they say to it."""
        world = self._world
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
                self._look_at(node, step, world, after)
            return
        row = step.after.row
        if self._options.watched:
            after = PartitionState({**world.rows, node: row}, world.controller, world.metadata)
            self._world = after
            self._look_at(node, step, world, after)
        else:
            rows: Any = world.rows
            rows[node] = row

    def _look_at(
        self, node: int, step: Step, before: PartitionState, after: PartitionState
    ) -> None:
        """A step that may have broken something."""
        checker = self._checker
        if node == CONTROLLER:
            violated = checker.after_controller_step(before, after)
        else:
            answers = step.sent if step.notable & ANSWERS else ()
            sent = tuple([message.value for _, message in answers])
            suspicious = bool(step.notable & SUSPICIOUS)
            violated = checker.after_harmful_step(node, before, after, sent, suspicious)
        if violated is not None:
            explanation = violated.check(before, after, checker.history, self._machine.brokers)
            assert explanation is not None, "what was violated a moment ago still is"
            self.violations.append(Violation(violated.name, self.steps_taken() - 1, explanation))
            self.end(STOPPED)

    def misnumbered(self, explanation: str) -> None:
        if self._options.watched:
            steps = max(self.steps_taken() - 1, 0)
            self.violations.append(Violation(EPOCH_BEGINS_AT_ZERO, steps, explanation))
            self.end(STOPPED)

    def _note_controller(self, old: ControllerRow, new: ControllerRow) -> None:
        """Count what a controller's step does, and note what it means for the promise.

        This is before the invariants are asked.
        """
        was, now = old.partition, new.partition
        if now is not was:
            self._shrinks += len(now.isr) < len(was.isr)
            self._expansions += len(now.isr) > len(was.isr)
            self._leader_changes += now.leader >= 0 and now.leader_epoch > was.leader_epoch
        self.losses.controller_stepped(old, new)
        self.judge_promise()

    @property
    def is_promised(self) -> bool:
        """Whether the run promises something still of what is committed."""
        return self._promised

    def judge_promise(self) -> None:
        envelope = self.losses.envelope()
        if not self._promised or envelope == self._envelope:
            return
        self._envelope = envelope
        if promised(configuration_of(self._options), envelope).nothing:
            self._promised = False
            names = [name for name in PARTITION_INVARIANT_NAMES if name not in UNPROMISED]
            self._checker.judge_only(names)

    def _follow_up(self, node: int, step: Step) -> None:
        notable = step.notable
        self._truncations += bool(notable & TRUNCATED)
        if notable & STATUS and not step.before.running:
            self.began(node)
        row: BrokerRow = step.after.row
        if row.role == "Leader":
            if notable & LEADERSHIP and any(
                other.role == "Leader" and at != node for at, other in self._world.rows.items()
            ):
                self.losses.two_leaders()
            if notable & (LOG | WATERMARK | LEADERSHIP):
                self.pace.news(node)

    def statistics(self) -> dict[str, int]:
        """What happened here, counted."""
        network, envelope = self.network, self.losses.envelope()
        return {
            "leader_changes": max(0, self._leader_changes - 1),
            "truncations": self._truncations,
            "lost": network.lost,
            "blocked": network.blocked,
            "undelivered": self._undelivered,
            "duplicated": network.duplicated,
            "held": network.held,
            "duration": self.now,
            "shrinks": self._shrinks,
            "expansions": self._expansions,
            "leader_moves": envelope.leader_moves,
            "unclean_moves": envelope.unclean_moves,
            "lossy_replicas": envelope.lossy,
            "zombies": int(envelope.zombie),
            "unpromised": int(not self._promised),
        }
